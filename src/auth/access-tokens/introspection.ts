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

const loadOAuth = () => import("../oauth4webapi.ts");

const Answer = z.looseObject({
  iss: z.string().optional(),
  exp: z.number().optional(),
  nbf: z.number().optional(),
  client_id: z.string().optional(),
});

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
      // A client that acts for itself may be named only as such.
      return { sub: claims.client_id, exp: nowSeconds + keptMs / 1_000, ...claims };
    },

    async ready() {
      await endpoint();
    },
  };
}
