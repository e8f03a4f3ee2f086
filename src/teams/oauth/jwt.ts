// Tokens that say themselves whose they are: JWTs, held against the keys that the identity provider publishes.
import { BoundedMap } from "../../bounded-map.ts";
import { errorCode, reasonOf } from "../../failure.ts";
import type { Provider } from "./provider.ts";
import { ProviderUnavailable, SigningKeyUnknown, TokenRefused } from "./refused.ts";

/** Signatures of the provider alone: nothing that a public key or nobody could have made. */
const ALGORITHMS = ["RS256", "PS256", "ES256", "EdDSA"];
/** Of access tokens (RFC 9068), and what providers write that know no such type. */
const TYPES: ReadonlySet<string | undefined> = new Set([undefined, "at+jwt", "application/at+jwt", "jwt"]);
const CLOCK_TOLERANCE_SECONDS = 30;
/** Minimum time between two reads of the keys that tokens with an unknown key cause. */
const COOLDOWN_MS = 30_000;
/** The same after a read that failed. */
const FAILED_COOLDOWN_MS = 5_000;
/** Keys that are known are read again after this, in the background. */
const KEYS_MS = 600_000;
const TIMEOUT_MS = 5_000;
const MAX_SEEN = 10_000;

const NO_SUCH_KEY = "ERR_JWKS_NO_MATCHING_KEY";
const NOT_OF_PROVIDER = "The token is not one of the identity provider's.";

/** What is wrong with a token, by jose's error codes. Any other code is an error of the provider or of this server. */
const REFUSALS: Readonly<Record<string, string>> = {
  ERR_JWT_EXPIRED: "The token has expired.",
  ERR_JWT_CLAIM_VALIDATION_FAILED: "The token is not in force, or it is another issuer's.",
  ERR_JWT_INVALID: NOT_OF_PROVIDER,
  ERR_JWS_INVALID: NOT_OF_PROVIDER,
  ERR_JWS_SIGNATURE_VERIFICATION_FAILED: NOT_OF_PROVIDER,
  ERR_JWKS_MULTIPLE_MATCHING_KEYS: "The token does not say which key signed it.",
  ERR_JOSE_ALG_NOT_ALLOWED: `The token must be signed with ${ALGORITHMS.join(", ")}.`,
  ERR_JOSE_NOT_SUPPORTED: `The token must be signed with ${ALGORITHMS.join(", ")}.`,
};

const loadJose = () => import("../keys/jose.ts");

/**
 * The provider's signing keys. A token with an unknown key is refused only if the keys were read after this token first came.
 * Otherwise it may be signed with a key that is newer than the last read, which the token of a stranger may have caused.
 */
async function keysAt(jwksUri: string, fetch: Provider["fetch"], monotonicMs: () => number) {
  const { createRemoteJWKSet, customFetch } = await loadJose();
  const keys = createRemoteJWKSet(new URL(jwksUri), {
    [customFetch]: fetch,
    // During its cooldown, jose refuses tokens with an unknown key. The cooldown is below instead.
    cooldownDuration: Number.POSITIVE_INFINITY,
    // What is known stays so while the provider cannot be asked.
    cacheMaxAge: Number.POSITIVE_INFINITY,
    timeoutDuration: TIMEOUT_MS,
  });
  /** Numbers of the last read that began, and of the last one that succeeded. */
  let begun = 0;
  let succeeded = 0;
  let begunAtMs = 0;
  let cooldownUntilMs = 0;
  let reading: Promise<void> | undefined;
  /** By the hash of a token with an unknown key: the number of the last read that had begun when the token first came. */
  const seen = new BoundedMap<string, number>(MAX_SEEN);

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

  const areKnown = (): boolean => keys.jwks() !== undefined;

  return {
    areKnown,
    read,

    /** The key that signed the token with this hash. Throws TokenRefused, SigningKeyUnknown, or what jose throws. */
    async keyFor(hash: string, ...[header, jws]: Parameters<typeof keys>) {
      const lookUp = () =>
        keys(header, jws).catch((error: unknown) => {
          if (errorCode(error) !== NO_SUCH_KEY) throw error;
        });
      const begunBefore = seen.get(hash) ?? begun;
      if (!areKnown()) await read();
      // In the background: known keys stay valid meanwhile.
      else if (monotonicMs() - begunAtMs > KEYS_MS) read().catch(() => undefined);
      let key = await lookUp();
      if (!key && (reading !== undefined || monotonicMs() >= cooldownUntilMs)) {
        await read();
        key = await lookUp();
      }
      if (key) return key;
      seen.set(hash, begunBefore);
      if (succeeded > begunBefore) throw new TokenRefused(NOT_OF_PROVIDER);
      throw new SigningKeyUnknown(Math.max(1, Math.ceil((cooldownUntilMs - monotonicMs()) / 1_000)));
    },
  };
}
type Keys = Awaited<ReturnType<typeof keysAt>>;

/** A token's claims, once it has proved to be this provider's and in force. Throw TokenRefused or ProviderUnavailable. */
export interface Verifier {
  /** `hash`: the token's, for what is remembered of it. */
  claimsOf(token: string, hash: string): Promise<unknown>;
  /** Resolves when tokens can be told apart. */
  ready(): Promise<void>;
}

export function createJwtVerifier(provider: Provider, monotonicMs: () => number): Verifier {
  /** One for all who come at once. */
  let held: { readonly jwksUri: string; readonly keys: Promise<Keys> } | undefined;

  async function keysNow(): Promise<Keys> {
    const { jwks_uri: jwksUri } = await provider.metadata();
    if (jwksUri === undefined) throw new ProviderUnavailable("the identity provider's metadata names no jwks_uri");
    if (held?.jwksUri !== jwksUri) held = { jwksUri, keys: keysAt(jwksUri, provider.fetch, monotonicMs) };
    return await held.keys;
  }

  return {
    async claimsOf(token, hash) {
      const { jwtVerify } = await loadJose();
      const keys = await keysNow();
      try {
        const { payload, protectedHeader } = await jwtVerify(token, (header, jws) => keys.keyFor(hash, header, jws), {
          issuer: provider.issuer,
          algorithms: ALGORITHMS,
          clockTolerance: CLOCK_TOLERANCE_SECONDS,
          requiredClaims: ["exp", "sub"],
        });
        if (!TYPES.has(protectedHeader.typ?.toLowerCase())) throw new TokenRefused("This is no access token.");
        return payload;
      } catch (error) {
        if (error instanceof TokenRefused || error instanceof SigningKeyUnknown) throw error;
        const refusal = REFUSALS[errorCode(error)];
        if (refusal !== undefined) throw new TokenRefused(refusal, { cause: error });
        throw new ProviderUnavailable(`the keys of the identity provider cannot be read: ${reasonOf(error)}`, {
          cause: error,
        });
      }
    },

    async ready() {
      const keys = await keysNow();
      if (keys.areKnown()) return;
      try {
        await keys.read();
      } catch (error) {
        throw new ProviderUnavailable(`the keys of the identity provider cannot be read: ${reasonOf(error)}`);
      }
    },
  };
}
