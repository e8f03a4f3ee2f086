// Tokens that say themselves whose they are: JWTs, held against the keys that the identity provider publishes.
import { errorCode, reasonOf } from "../../failure.ts";
import type { Provider } from "./provider.ts";
import { ProviderUnavailable, TokenRefused } from "./refused.ts";

/** Signatures of the provider alone: nothing that a public key or nobody could have made. */
const ALGORITHMS = ["RS256", "PS256", "ES256", "EdDSA"];
/** Of access tokens (RFC 9068), and what providers write that know no such type. */
const TYPES: ReadonlySet<string | undefined> = new Set([undefined, "at+jwt", "application/at+jwt", "jwt"]);
const CLOCK_TOLERANCE_SECONDS = 30;
/** A key that is not known is looked for again, at most so often. */
const COOLDOWN_MS = 30_000;
/** Keys that are known are read again after this, in the background. */
const KEYS_MS = 600_000;
const TIMEOUT_MS = 5_000;

/** By jose's codes: what is wrong with a token whose signature is good. */
const FAULTS: Readonly<Record<string, string>> = {
  ERR_JWT_EXPIRED: "The token has expired.",
  ERR_JWT_CLAIM_VALIDATION_FAILED: "The token is not in force, or it is another issuer's.",
};

/** Of any other. What is in neither is the provider's fault, or ours. */
const REFUSALS: Readonly<Record<string, string>> = {
  ERR_JWT_INVALID: "The token is not one of the identity provider's.",
  ERR_JWS_INVALID: "The token is not one of the identity provider's.",
  ERR_JWS_SIGNATURE_VERIFICATION_FAILED: "The token is not one of the identity provider's.",
  ERR_JWKS_NO_MATCHING_KEY: "The token is not one of the identity provider's.",
  ERR_JWKS_MULTIPLE_MATCHING_KEYS: "The token does not say which key signed it.",
  ERR_JOSE_ALG_NOT_ALLOWED: `The token must be signed with ${ALGORITHMS.join(", ")}.`,
  ERR_JOSE_NOT_SUPPORTED: `The token must be signed with ${ALGORITHMS.join(", ")}.`,
};

const loadJose = () => import("../jose.ts");

async function keysAt(jwksUri: string, fetch: Provider["fetch"]) {
  const { createRemoteJWKSet, customFetch } = await loadJose();
  return createRemoteJWKSet(new URL(jwksUri), {
    [customFetch]: fetch,
    cooldownDuration: COOLDOWN_MS,
    // What is known stays so while the provider cannot be asked.
    cacheMaxAge: Number.POSITIVE_INFINITY,
    timeoutDuration: TIMEOUT_MS,
  });
}
type Keys = Awaited<ReturnType<typeof keysAt>>;

/** A token's claims, once it has proved to be this provider's and in force. Throw TokenRefused or ProviderUnavailable. */
export interface Verifier {
  claimsOf(token: string): Promise<unknown>;
  /** Resolves when tokens can be told apart. */
  ready(): Promise<void>;
}

export function createJwtVerifier(provider: Provider, monotonicMs: () => number): Verifier {
  /** One for all who come at once. */
  let held: { readonly jwksUri: string; readonly keys: Promise<Keys>; readAtMs: number } | undefined;

  async function keysNow(): Promise<Keys> {
    const { jwks_uri: jwksUri } = await provider.metadata();
    if (jwksUri === undefined) throw new ProviderUnavailable("the identity provider's metadata names no jwks_uri");
    if (held?.jwksUri !== jwksUri) held = { jwksUri, keys: keysAt(jwksUri, provider.fetch), readAtMs: monotonicMs() };
    const current = held;
    const keys = await current.keys;
    if (keys.jwks() && monotonicMs() - current.readAtMs > KEYS_MS) {
      current.readAtMs = monotonicMs();
      keys.reload().catch(() => undefined);
    }
    return keys;
  }

  return {
    async claimsOf(token) {
      const { jwtVerify } = await loadJose();
      const keys = await keysNow();
      try {
        const { payload, protectedHeader } = await jwtVerify(token, keys, {
          issuer: provider.issuer,
          algorithms: ALGORITHMS,
          clockTolerance: CLOCK_TOLERANCE_SECONDS,
          requiredClaims: ["exp", "sub"],
        });
        if (!TYPES.has(protectedHeader.typ?.toLowerCase())) throw new TokenRefused("This is no access token.");
        return payload;
      } catch (error) {
        if (error instanceof TokenRefused) throw error;
        const code = errorCode(error);
        const refusal = FAULTS[code] ?? REFUSALS[code];
        if (refusal !== undefined) throw new TokenRefused(refusal, { cause: error });
        throw new ProviderUnavailable(`the keys of the identity provider cannot be read: ${reasonOf(error)}`, {
          cause: error,
        });
      }
    },

    async ready() {
      const keys = await keysNow();
      if (keys.jwks()) return;
      try {
        await keys.reload();
      } catch (error) {
        throw new ProviderUnavailable(`the keys of the identity provider cannot be read: ${reasonOf(error)}`);
      }
    },
  };
}
