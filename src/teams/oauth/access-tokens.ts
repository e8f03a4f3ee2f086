// Identifies the caller of an access token. Identity providers use different claims; this file handles all known differences.
import { createHash } from "node:crypto";
import { decodeJwt } from "jose";
import { LRUCache } from "lru-cache";
import * as z from "zod/v4";
import type { Transport } from "../../api-client/transport.ts";
import { type Caller, callerId, RIGHTS } from "../caller.ts";
import type { SignInSettings } from "../settings.ts";
import { createProvider, TokenRefused } from "./provider.ts";
import { createJwtVerifier } from "./verifiers.ts";

/** The values of a token that decide about access, as operators need them to find the cause of a refusal. */
export type TokenFacts = Pick<Caller, "issuer" | "audiences" | "scopes" | "groups">;

type ClaimRules = Pick<SignInSettings, "issuer" | "teamClaim" | "scopes">;

const textOrList = z.union([z.string(), z.array(z.string())]);

const Claims = z.looseObject({
  sub: z.string().min(1),
  exp: z.number(),
  aud: textOrList.optional(),
  // RFC 9068: `scope`, separated by spaces. Entra: `scp`, separated by spaces. Okta: `scp`, a list.
  scope: textOrList.optional(),
  scp: textOrList.optional(),
  // RFC 9068: `client_id`. Keycloak and Google: `azp`. Okta: `cid`. Older versions of Entra: `appid`.
  client_id: z.string().optional(),
  azp: z.string().optional(),
  cid: z.string().optional(),
  appid: z.string().optional(),
});

/** Claims that only ID tokens have: their audience is a client id, which may be the configured audience. */
const ID_TOKEN_CLAIMS = ["nonce", "at_hash", "c_hash", "s_hash"];

const splitScopes = (value: z.infer<typeof textOrList> | undefined): readonly string[] =>
  typeof value === "string" ? value.split(" ") : (value ?? []);

const toList = (value: z.infer<typeof textOrList> | undefined): readonly string[] =>
  typeof value === "string" ? [value] : (value ?? []);

const Fields = z.record(z.string(), z.unknown());

/** The name of a claim may contain dots (`https://example.org/groups`), so the complete path is first tried as a name. */
function getClaimAtPath(claims: Readonly<Record<string, unknown>>, path: string): unknown {
  if (Object.hasOwn(claims, path)) return claims[path];
  let value: unknown = claims;
  for (const step of path.split(".")) {
    const fields = Fields.safeParse(value).data;
    if (!fields || !Object.hasOwn(fields, step)) return undefined;
    value = fields[step];
  }
  return value;
}

/** Some providers send all groups in one text, separated by commas or spaces. A group's name may contain spaces as well. */
const splitGroups = (text: string): readonly string[] => [
  ...new Set([text, ...text.split(text.includes(",") ? "," : " ").map((group) => group.trim())]),
];

const MAX_GROUPS = 1_000;
const Groups = z
  .union([z.string().transform(splitGroups), z.array(z.unknown())])
  .transform((groups) => groups.flatMap((group) => (typeof group === "string" ? [group] : [])).slice(0, MAX_GROUPS));

const AccessClaims = Claims.pick({ aud: true, scope: true, scp: true }).extend({ iss: z.string() }).partial();

/** `claims`: the claims of any token, which may be invalid. */
function toTokenFacts(claims: Readonly<Record<string, unknown>>, teamClaim: string): TokenFacts {
  const { iss = "", aud, scope, scp } = AccessClaims.safeParse(claims).data ?? {};
  return {
    issuer: iss,
    audiences: toList(aud),
    scopes: [...splitScopes(scope), ...splitScopes(scp)],
    groups: Groups.safeParse(getClaimAtPath(claims, teamClaim)).data ?? [],
  };
}

/** Returns the facts of a token without a check of its signature; undefined if it is not a JWT. Use them only to describe a refusal. */
export function readUnverifiedFacts(token: string, teamClaim: string): TokenFacts | undefined {
  try {
    return toTokenFacts(decodeJwt(token), teamClaim);
  } catch {
    return undefined;
  }
}

/** `claims`: the claims of a valid token of this issuer. Throws TokenRefused. */
function toCaller(claims: unknown, { issuer, teamClaim, scopes }: ClaimRules): Caller {
  const { data } = Claims.safeParse(claims);
  if (!data) throw new TokenRefused("The token must have the claims sub and exp.");
  if (ID_TOKEN_CLAIMS.some((claim) => claim in data))
    throw new TokenRefused("This is an ID token; an access token is required.");
  const facts = toTokenFacts(data, teamClaim);
  // RFC 9449 and RFC 8705: this server does not check proofs of possession, so it must not accept a token that is bound to a key.
  if ("cnf" in data) throw new TokenRefused("The token is bound to a key; an unbound bearer token is required.");
  return {
    ...facts,
    issuer,
    id: callerId(issuer, data.sub),
    subject: data.sub,
    clientId: data.client_id ?? data.azp ?? data.cid ?? data.appid ?? "",
    rights: new Set(RIGHTS.filter((right) => facts.scopes.includes(scopes[right]))),
    expiresAt: data.exp * 1_000,
  };
}

export interface AccessTokenOptions extends ClaimRules {
  readonly transport: Transport;
  now(): number;
  monotonicMs(): number;
}

export type AccessTokens = ReturnType<typeof createAccessTokens>;

const MAX_CACHED_TOKENS = 10_000;
const CACHE_MS = 60_000;
const MAX_TOKEN_CHARS = 24_576;
/** Maximum remaining validity of a token: a day, the longest usual setting, and 5 minutes for clocks that differ. */
const MAX_VALIDITY_MS = 86_400_000 + 300_000;

/** The cache contains hashes, so that it does not contain tokens. */
const hashToken = (token: string): string => createHash("sha256").update(token).digest("base64");

/** `now`: milliseconds since 1970. */
export function createAccessTokens(options: AccessTokenOptions) {
  const { now, monotonicMs } = options;
  const provider = createProvider(options);
  const verifier = createJwtVerifier(provider, monotonicMs);
  /** By hash. Concurrent requests with the same new token share one check. Refused tokens do not displace accepted ones. */
  const accepted = new LRUCache<string, Caller, string>({
    max: MAX_CACHED_TOKENS,
    ttlResolution: 0,
    perf: { now },
    ttl: CACHE_MS,
    ignoreFetchAbort: true,
    async fetchMethod(hash, _stale, { options: entry, context: token }) {
      const caller = toCaller(await verifier.verifyClaims(token, hash), options);
      if (caller.expiresAt - now() > MAX_VALIDITY_MS)
        throw new TokenRefused("The token is valid for more than 24 h, and could not be withdrawn in that time.");
      // A time of 0 would mean that the entry never expires.
      entry.ttl = Math.max(1, Math.min(CACHE_MS, caller.expiresAt - now()));
      return caller;
    },
  });

  return {
    /** The metadata document of the identity provider. Throws ProviderUnavailable. */
    metadata: provider.metadata,
    /** Resolves when tokens can be checked. Throws ProviderUnavailable. */
    ready: verifier.ready,
    findOutage: provider.findOutage,
    /** Throws TokenRefused, or ProviderUnavailable if the token cannot be checked. The audience is not checked here. */
    async verify(token: string): Promise<Caller> {
      if (token.length > MAX_TOKEN_CHARS) throw new TokenRefused("The token is too long.");
      return await accepted.forceFetch(hashToken(token), { context: token });
    },
  };
}
