// Verifies access tokens (JWTs) with the keys that the identity provider publishes.
import { createRemoteJWKSet, customFetch, errors, jwtVerify } from "jose";
import { LRUCache } from "lru-cache";
import { errorCode, errorMessage } from "../../core/failure.ts";
import { type Provider, ProviderUnavailable, SigningKeyUnknown, TokenRefused } from "./provider.ts";

/** Asymmetric signatures only: any attacker could make a token with `none`, or with the public key as an HMAC key. */
const ALGORITHMS = "RS256 RS384 RS512 PS256 PS384 PS512 ES256 ES384 ES512 EdDSA".split(" ");
/** Accepted values of `typ`: those of RFC 9068, and those of providers that do not follow it. */
const TYPES: ReadonlySet<string | undefined> = new Set([undefined, "at+jwt", "application/at+jwt", "jwt"]);
const CLOCK_TOLERANCE_SECONDS = 30;
/** Minimum time from the start of a read of the keys until a token with an unknown key may cause another read. */
const COOLDOWN_MS = 30_000;
/** The same, counted from the end of a failed read. */
const FAILED_COOLDOWN_MS = 5_000;
/** Cached keys that are older are read again in the background. */
const KEYS_REFRESH_MS = 600_000;
const TIMEOUT_MS = 5_000;
const MAX_SEEN = 10_000;

const NO_SUCH_KEY = "ERR_JWKS_NO_MATCHING_KEY";
const NOT_ISSUED_BY_PROVIDER = "The token was not issued by the identity provider.";

/** Reasons to refuse a token, by the error codes of jose. Any other code is an error of the provider or of this server. */
const REFUSALS: Readonly<Record<string, string>> = {
  ERR_JWT_EXPIRED: "The token has expired.",
  ERR_JWT_INVALID: NOT_ISSUED_BY_PROVIDER,
  ERR_JWS_INVALID: NOT_ISSUED_BY_PROVIDER,
  ERR_JWS_SIGNATURE_VERIFICATION_FAILED: NOT_ISSUED_BY_PROVIDER,
  ERR_JWKS_MULTIPLE_MATCHING_KEYS: "The token does not identify its signing key.",
  ERR_JOSE_ALG_NOT_ALLOWED: `The token must be signed with one of ${ALGORITHMS.join(", ")}.`,
  ERR_JOSE_NOT_SUPPORTED: `The token must be signed with one of ${ALGORITHMS.join(", ")}.`,
};

/** Reasons to refuse a token, by the claim that is not valid. */
const CLAIM_REFUSALS: Readonly<Record<string, string>> = {
  iss: "The token has another issuer.",
  nbf: "The token is not yet valid.",
};

/** Undefined for an error of the provider or of this server. */
const refusalReason = (error: unknown): string | undefined =>
  error instanceof errors.JWTClaimValidationFailed
    ? (CLAIM_REFUSALS[error.claim] ?? `The token must have a valid claim ${error.claim}.`)
    : REFUSALS[errorCode(error)];

/** A token with an unknown key is refused only if the keys were read after it first arrived: its key may be newer than the last read. */
function createSigningKeys(jwksUri: string, fetch: Provider["fetch"], monotonicMs: () => number) {
  const keys = createRemoteJWKSet(new URL(jwksUri), {
    [customFetch]: fetch,
    // During its cooldown, jose refuses tokens with an unknown key. This module has its own cooldown instead (COOLDOWN_MS).
    cooldownDuration: Number.POSITIVE_INFINITY,
    // Cached keys stay valid while the provider cannot be reached.
    cacheMaxAge: Number.POSITIVE_INFINITY,
    timeoutDuration: TIMEOUT_MS,
  });
  /** Reads are numbered: the last read that began, and the last read that succeeded. */
  let begun = 0;
  let succeeded = 0;
  let begunAtMs = 0;
  let cooldownUntilMs = 0;
  let reading: Promise<void> | undefined;
  /** For the hash of a token with an unknown key: the number of the last read that had begun when the token first arrived. */
  const seen = new LRUCache<string, number>({ max: MAX_SEEN });

  async function readOnce(): Promise<void> {
    begun += 1;
    const number = begun;
    begunAtMs = monotonicMs();
    cooldownUntilMs = begunAtMs + COOLDOWN_MS;
    try {
      await keys.reload();
      succeeded = number;
    } catch (error) {
      cooldownUntilMs = monotonicMs() + FAILED_COOLDOWN_MS;
      throw error;
    } finally {
      reading = undefined;
    }
  }

  function read(): Promise<void> {
    reading ??= readOnce();
    return reading;
  }

  const hasKeys = (): boolean => keys.jwks() !== undefined;

  return {
    hasKeys,
    read,

    /** Finds the key that signed the token with this hash. Throws TokenRefused, SigningKeyUnknown, or the errors of jose. */
    async findKey(hash: string, ...[header, jws]: Parameters<typeof keys>) {
      const lookUp = () =>
        keys(header, jws).catch((error: unknown) => {
          if (errorCode(error) !== NO_SUCH_KEY) throw error;
        });
      const begunBefore = seen.get(hash) ?? begun;
      if (!hasKeys()) await read();
      // Refreshed in the background: the cached keys stay valid in the meantime.
      else if (monotonicMs() - begunAtMs > KEYS_REFRESH_MS) read().catch(() => undefined);
      let key = await lookUp();
      if (!key && (reading !== undefined || monotonicMs() >= cooldownUntilMs)) {
        await read();
        key = await lookUp();
      }
      if (key) return key;
      seen.set(hash, begunBefore);
      if (succeeded > begunBefore) throw new TokenRefused(NOT_ISSUED_BY_PROVIDER);
      throw new SigningKeyUnknown(Math.max(1, Math.ceil((cooldownUntilMs - monotonicMs()) / 1_000)));
    },
  };
}

/** Verifies tokens of one provider without a request, except to read its keys. The methods throw TokenRefused or ProviderUnavailable. */
export function createJwtVerifier(provider: Provider, monotonicMs: () => number) {
  let cached: { readonly jwksUri: string; readonly keys: ReturnType<typeof createSigningKeys> } | undefined;

  async function getKeys() {
    const { jwks_uri: jwksUri } = await provider.metadata();
    if (jwksUri === undefined) throw new ProviderUnavailable("the identity provider's metadata has no jwks_uri");
    if (cached?.jwksUri !== jwksUri)
      cached = { jwksUri, keys: createSigningKeys(jwksUri, provider.fetch, monotonicMs) };
    return cached.keys;
  }

  return {
    /** Returns the claims of a valid token. `hash`: the hash of the token, by which the verifier stores facts about it. */
    async verifyClaims(token: string, hash: string): Promise<unknown> {
      const keys = await getKeys();
      try {
        const { payload, protectedHeader } = await jwtVerify(token, (header, jws) => keys.findKey(hash, header, jws), {
          issuer: provider.issuer,
          algorithms: ALGORITHMS,
          clockTolerance: CLOCK_TOLERANCE_SECONDS,
          requiredClaims: ["exp", "sub"],
        });
        if (!TYPES.has(protectedHeader.typ?.toLowerCase())) throw new TokenRefused("This is not an access token.");
        return payload;
      } catch (error) {
        if (error instanceof TokenRefused || error instanceof SigningKeyUnknown) throw error;
        const refusal = refusalReason(error);
        if (refusal !== undefined)
          throw new TokenRefused(refusal, error instanceof errors.JWTExpired ? "expired_token" : "invalid_token");
        throw new ProviderUnavailable(`the identity provider's keys could not be read: ${errorMessage(error)}`, {
          cause: error,
        });
      }
    },

    async ready(): Promise<void> {
      const keys = await getKeys();
      if (keys.hasKeys()) return;
      try {
        await keys.read();
      } catch (error) {
        throw new ProviderUnavailable(`the identity provider's keys could not be read: ${errorMessage(error)}`);
      }
    },
  };
}
