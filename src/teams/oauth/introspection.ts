// Tokens that say nothing themselves: the identity provider is asked whose each is (RFC 7662).
import * as z from "zod/v4";
import { reasonOf } from "../../failure.ts";
import type { Verifier } from "./jwt.ts";
import type { Provider } from "./provider.ts";
import { ProviderUnavailable, TokenRefused } from "./refused.ts";

export interface IntrospectionOptions {
  /** What this deployment is to its identity provider. */
  readonly client: { readonly id: string; readonly secret: string };
  /** How long an answer that names no end is believed. */
  readonly keptMs: number;
  now(): number;
}

const loadOAuth = () => import("./oauth4webapi.ts");

const Answer = z.looseObject({
  iss: z.string().optional(),
  exp: z.number().optional(),
  nbf: z.number().optional(),
  sub: z.string().nullish(),
  username: z.string().nullish(),
  client_id: z.string().nullish(),
});

/** Claims by which providers name a user instead of `sub` and `username` (Cloud Foundry UAA, OpenID Connect). */
const OTHER_USER_CLAIMS = ["user_id", "user_name", "preferred_username", "email"];
const DERIVED_SUBJECT = /^(?:username|client):/;

/**
 * The caller's subject. RFC 7662, 2.2: `sub` and `username` are both optional. A subject that is derived from another member has a
 * prefix, and a `sub` with such a prefix is refused: no username and no client id is equal to the `sub` of a user. `client_id` names
 * the client of all its users, so it is the subject only if the answer names no user (client credentials). Throws TokenRefused.
 */
function subjectOf(answer: z.infer<typeof Answer>): string {
  const { sub, username, client_id: clientId } = answer;
  if (sub) {
    if (!DERIVED_SUBJECT.test(sub)) return sub;
    throw new TokenRefused("The token's subject begins with username: or client:, which this server reserves.");
  }
  if (username) return `username:${username}`;
  const namesUser = OTHER_USER_CLAIMS.some((claim) => (answer[claim] ?? "") !== "");
  if (clientId && !namesUser) return `client:${clientId}`;
  throw new TokenRefused(
    "The identity provider does not say whose token this is: introspection must return sub or username.",
  );
}

export function createIntrospection(provider: Provider, { client, keptMs, now }: IntrospectionOptions): Verifier {
  async function endpoint() {
    const { issuer, introspection_endpoint } = await provider.metadata();
    if (introspection_endpoint === undefined)
      throw new ProviderUnavailable("the identity provider's metadata names no introspection_endpoint");
    return { issuer, introspection_endpoint };
  }

  async function ask(token: string): Promise<{ readonly active: boolean }> {
    const server = await endpoint();
    const oauth = await loadOAuth();
    const asking = { client_id: client.id };
    try {
      const response = await oauth.introspectionRequest(
        server,
        asking,
        oauth.ClientSecretBasic(client.secret),
        token,
        // The provider's metadata has told https from this machine's own http.
        { [oauth.customFetch]: provider.fetch, [oauth.allowInsecureRequests]: true },
      );
      return await oauth.processIntrospectionResponse(server, asking, response);
    } catch (error) {
      throw new ProviderUnavailable(`the identity provider does not say whose a token is: ${reasonOf(error)}`, {
        cause: error,
      });
    }
  }

  return {
    async claimsOf(token) {
      const answered = await ask(token);
      if (!answered.active) throw new TokenRefused("The token is not in force.");
      const claims = Answer.safeParse(answered).data;
      if (!claims) throw new ProviderUnavailable("what the identity provider says of a token cannot be read");
      if (claims.iss !== undefined && claims.iss !== provider.issuer)
        throw new TokenRefused("The token is another issuer's.");
      const nowSeconds = now() / 1_000;
      if ((claims.exp ?? Number.POSITIVE_INFINITY) < nowSeconds) throw new TokenRefused("The token has expired.");
      if ((claims.nbf ?? 0) > nowSeconds) throw new TokenRefused("The token is not in force yet.");
      const { client_id: clientId, ...others } = claims;
      return {
        exp: nowSeconds + keptMs / 1_000,
        ...others,
        ...(clientId && { client_id: clientId }),
        sub: subjectOf(claims),
      };
    },

    async ready() {
      await endpoint();
    },
  };
}
