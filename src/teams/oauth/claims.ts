// What identity providers write into access tokens, and who a caller is by it. They differ: every difference we know is here.
import * as z from "zod/v4";
import { type Caller, callerId, RIGHTS, type Right } from "../../caller.ts";
import { TokenRefused } from "./refused.ts";

/** What is known of a good token. */
export interface Presented {
  readonly caller: Caller;
  /** Whom it was issued for. */
  readonly audiences: readonly string[];
}

export interface ClaimRules {
  readonly issuer: string;
  /** A claim's name, or a path to it with dots (`realm_access.roles`). */
  readonly teamClaim: string;
  /** What the rights are called at the identity provider. */
  readonly scopes: Readonly<Record<Right, string>>;
}

const textOrList = z.union([z.string(), z.array(z.string())]);

const Claims = z.looseObject({
  sub: z.string().min(1),
  exp: z.number(),
  aud: textOrList.optional(),
  // RFC 9068: text with spaces. Entra: scp, the same; Okta: scp, a list.
  scope: textOrList.optional(),
  scp: textOrList.optional(),
  // RFC 9068; Keycloak and Google: azp; Okta: cid; Entra of old: appid.
  client_id: z.string().optional(),
  azp: z.string().optional(),
  cid: z.string().optional(),
  appid: z.string().optional(),
});

/** What only ID tokens have. Their audience is a client, which keeps most of them out: not where a deployment's audience is a client id. */
const OF_ID_TOKENS = ["nonce", "at_hash", "c_hash", "s_hash"];

const wordsOf = (value: z.infer<typeof textOrList> | undefined): readonly string[] =>
  typeof value === "string" ? value.split(" ") : (value ?? []);

const listOf = (value: z.infer<typeof textOrList> | undefined): readonly string[] =>
  typeof value === "string" ? [value] : (value ?? []);

const Fields = z.record(z.string(), z.unknown());

/** Names of claims may have dots themselves (`https://example.org/groups`): the whole name comes first. */
function claimAt(claims: Readonly<Record<string, unknown>>, path: string): unknown {
  if (Object.hasOwn(claims, path)) return claims[path];
  let value: unknown = claims;
  for (const step of path.split(".")) {
    const fields = Fields.safeParse(value).data;
    if (!fields || !Object.hasOwn(fields, step)) return undefined;
    value = fields[step];
  }
  return value;
}

const MAX_GROUPS = 1_000;
const Groups = z
  .union([z.string().transform((group) => [group]), z.array(z.unknown())])
  .transform((groups) => groups.flatMap((group) => (typeof group === "string" ? [group] : [])).slice(0, MAX_GROUPS));

const refused = (message: string): TokenRefused => new TokenRefused(message);

/** `claims`: of a token that is this issuer's and in force. Throws TokenRefused. */
export function presentedBy(claims: unknown, { issuer, teamClaim, scopes }: ClaimRules): Presented {
  const { data } = Claims.safeParse(claims);
  if (!data) throw refused("The token does not say whose it is and how long: sub and exp are needed.");
  if (OF_ID_TOKENS.some((claim) => claim in data)) throw refused("This is an ID token; an access token is needed.");
  const granted = new Set([...wordsOf(data.scope), ...wordsOf(data.scp)]);
  // RFC 9449 and RFC 8705: whoever cannot see the key's proof must not take the token.
  if ("cnf" in data) throw refused("The token is bound to a key; a bearer token is needed.");
  return {
    caller: {
      id: callerId(issuer, data.sub),
      issuer,
      subject: data.sub,
      clientId: data.client_id ?? data.azp ?? data.cid ?? data.appid ?? "",
      rights: new Set(RIGHTS.filter((right) => granted.has(scopes[right]))),
      groups: Groups.safeParse(claimAt(data, teamClaim)).data ?? [],
      expiresAt: data.exp * 1_000,
    },
    audiences: listOf(data.aud),
  };
}
