// Whose an access token is, as the organisation's identity provider says it: asked once for each token, and kept for a moment.
import { createHash } from "node:crypto";
import { BoundedMap } from "../../bounded-map.ts";
import type { Transport } from "../../service/transport.ts";
import { type ClaimRules, type Presented, presentedBy } from "./claims.ts";
import { createIntrospection } from "./introspection.ts";
import { createJwtVerifier } from "./jwt.ts";
import { createProvider, type ProviderMetadata } from "./provider.ts";
import { TokenRefused } from "./refused.ts";

export interface AccessTokenOptions extends ClaimRules {
  readonly tokens: "jwt" | "introspection";
  /** For introspection: what this deployment is to its identity provider. */
  readonly client: { readonly id: string; readonly secret: string } | undefined;
  readonly transport: Transport;
  now(): number;
  monotonicMs(): number;
}

export interface AccessTokens {
  /** Throws TokenRefused where the token is no good, ProviderUnavailable where nobody can tell. Its audience is for the caller to check. */
  present(token: string): Promise<Presented>;
  /** The identity provider's own. Throws ProviderUnavailable. */
  metadata(): Promise<ProviderMetadata>;
  /** Resolves when tokens can be told apart. Throws ProviderUnavailable. */
  ready(): Promise<void>;
}

const MAX_KEPT = 10_000;
const JWT_KEPT_MS = 60_000;
const INTROSPECTED_KEPT_MS = 30_000;
/** Short: a provider of several nodes may not know a token on all of them at once. */
const REFUSED_KEPT_MS = 10_000;
const MAX_TOKEN_CHARS = 24_576;

/** The token itself is not kept. */
const hashOf = (token: string): string => createHash("sha256").update(token).digest("base64");

export function createAccessTokens(options: AccessTokenOptions): AccessTokens {
  const { tokens, client, now, monotonicMs } = options;
  const provider = createProvider(options);
  const keptMs = tokens === "jwt" ? JWT_KEPT_MS : INTROSPECTED_KEPT_MS;
  const verifier =
    tokens === "introspection" && client
      ? createIntrospection(provider, { client, keptMs, now })
      : createJwtVerifier(provider, monotonicMs);
  const kept = new BoundedMap<string, { readonly presented: Presented; readonly until: number }>(MAX_KEPT);
  /**
   * Tokens that introspection refused: a client that repeats one does not repeat the request to the provider. Apart from those that
   * are good, which bad ones must not push out. JWTs are checked without a request.
   */
  const refused = new BoundedMap<string, { readonly error: TokenRefused; readonly until: number }>(MAX_KEPT);
  /** A client that sends many requests at once with a new token has it looked at once. */
  const underway = new Map<string, Promise<Presented>>();

  async function look(token: string, hash: string): Promise<Presented> {
    try {
      const presented = presentedBy(await verifier.claimsOf(token, hash), options);
      const until = Math.min(now() + keptMs, presented.caller.expiresAt);
      if (until > now()) {
        // It counts as the youngest.
        kept.delete(hash);
        kept.set(hash, { presented, until });
      }
      return presented;
    } catch (error) {
      if (tokens === "introspection" && error instanceof TokenRefused) {
        refused.delete(hash);
        refused.set(hash, { error, until: now() + REFUSED_KEPT_MS });
      }
      throw error;
    }
  }

  function keptAs(hash: string): Presented | undefined {
    const entry = kept.get(hash);
    return entry && entry.until > now() ? entry.presented : undefined;
  }

  return {
    metadata: provider.metadata,
    ready: verifier.ready,
    async present(token) {
      if (token.length > MAX_TOKEN_CHARS) throw new TokenRefused("The token is too long.");
      const hash = hashOf(token);
      const known = keptAs(hash);
      if (known) return known;
      const before = refused.get(hash);
      if (before && before.until > now()) throw before.error;
      const looking = underway.get(hash) ?? look(token, hash).finally(() => underway.delete(hash));
      underway.set(hash, looking);
      return await looking;
    },
  };
}
