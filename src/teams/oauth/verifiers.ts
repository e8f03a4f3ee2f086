// Checks access tokens: JWTs with the keys that the identity provider publishes, opaque tokens by introspection (RFC 7662).
import { createRemoteJWKSet, customFetch, jwtVerify } from "jose";
import { LRUCache } from "lru-cache";
import * as oauth from "oauth4webapi";
import * as z from "zod/v4";
import { errorCode, errorMessage } from "../../core/failure.ts";
import { type Provider, ProviderUnavailable, SigningKeyUnknown, TokenRefused } from "./provider.ts";

/** Asymmetric signatures only: anybody could make a token with `none`, or with the public key as an HMAC key. */
const ALGORITHMS = ["RS256", "PS256", "ES256", "EdDSA"];
/** RFC 9068, and the types of providers that do not set one. */
const TYPES: ReadonlySet<string | undefined> = new Set([undefined, "at+jwt", "application/at+jwt", "jwt"]);
const CLOCK_TOLERANCE_SECONDS = 30;
/** Minimum time between two reads of the keys that tokens with an unknown key cause. */
const COOLDOWN_MS = 30_000;
/** The same after a read that failed. */
const FAILED_COOLDOWN_MS = 5_000;
/** Keys that are known are read again after this, in the background. */
const KEYS_REFRESH_MS = 600_000;
const TIMEOUT_MS = 5_000;
const MAX_SEEN = 10_000;

const NO_SUCH_KEY = "ERR_JWKS_NO_MATCHING_KEY";
const NOT_ISSUED_BY_PROVIDER = "The token is not one of the identity provider's.";

/** What is wrong with a token, by jose's error codes. Any other code is an error of the provider or of this server. */
const REFUSALS: Readonly<Record<string, string>> = {
  ERR_JWT_EXPIRED: "The token has expired.",
  ERR_JWT_CLAIM_VALIDATION_FAILED: "The token is not in force, or it is another issuer's.",
  ERR_JWT_INVALID: NOT_ISSUED_BY_PROVIDER,
  ERR_JWS_INVALID: NOT_ISSUED_BY_PROVIDER,
  ERR_JWS_SIGNATURE_VERIFICATION_FAILED: NOT_ISSUED_BY_PROVIDER,
  ERR_JWKS_MULTIPLE_MATCHING_KEYS: "The token does not say which key signed it.",
  ERR_JOSE_ALG_NOT_ALLOWED: `The token must be signed with ${ALGORITHMS.join(", ")}.`,
  ERR_JOSE_NOT_SUPPORTED: `The token must be signed with ${ALGORITHMS.join(", ")}.`,
};

/**
 * The provider's signing keys. A token with an unknown key is refused only if the keys were read after this token first came.
 * Otherwise it may be signed with a key that is newer than the last read, which the token of a stranger may have caused.
 */
function createSigningKeys(jwksUri: string, fetch: Provider["fetch"], monotonicMs: () => number) {
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

    /** The key that signed the token with this hash. Throws TokenRefused, SigningKeyUnknown, or what jose throws. */
    async findKey(hash: string, ...[header, jws]: Parameters<typeof keys>) {
      const lookUp = () =>
        keys(header, jws).catch((error: unknown) => {
          if (errorCode(error) !== NO_SUCH_KEY) throw error;
        });
      const begunBefore = seen.get(hash) ?? begun;
      if (!hasKeys()) await read();
      // In the background: known keys stay valid meanwhile.
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

/** Returns the claims of a token of this provider that is in force. The methods throw TokenRefused or ProviderUnavailable. */
export interface Verifier {
  /** `hash`: of the token, as a key for what this verifier remembers about it. */
  verifyClaims(token: string, hash: string): Promise<unknown>;
  /** Resolves when tokens can be checked. */
  ready(): Promise<void>;
}

export function createJwtVerifier(provider: Provider, monotonicMs: () => number): Verifier {
  let cached: { readonly jwksUri: string; readonly keys: ReturnType<typeof createSigningKeys> } | undefined;

  async function getKeys() {
    const { jwks_uri: jwksUri } = await provider.metadata();
    if (jwksUri === undefined) throw new ProviderUnavailable("the identity provider's metadata names no jwks_uri");
    if (cached?.jwksUri !== jwksUri)
      cached = { jwksUri, keys: createSigningKeys(jwksUri, provider.fetch, monotonicMs) };
    return cached.keys;
  }

  return {
    async verifyClaims(token, hash) {
      const keys = await getKeys();
      try {
        const { payload, protectedHeader } = await jwtVerify(token, (header, jws) => keys.findKey(hash, header, jws), {
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
        throw new ProviderUnavailable(`the keys of the identity provider cannot be read: ${errorMessage(error)}`, {
          cause: error,
        });
      }
    },

    async ready() {
      const keys = await getKeys();
      if (keys.hasKeys()) return;
      try {
        await keys.read();
      } catch (error) {
        throw new ProviderUnavailable(`the keys of the identity provider cannot be read: ${errorMessage(error)}`);
      }
    },
  };
}

export interface IntrospectionOptions {
  /** What this deployment is to its identity provider. */
  readonly client: { readonly id: string; readonly secret: string };
  /** How long an answer that names no end is believed. */
  readonly cacheMs: number;
  now(): number;
}

const IntrospectionResponse = z.looseObject({
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
function subjectOf(answer: z.infer<typeof IntrospectionResponse>): string {
  const { sub, username, client_id: clientId } = answer;
  if (sub) {
    if (!DERIVED_SUBJECT.test(sub)) return sub;
    throw new TokenRefused("The token's subject begins with username: or client:, which this server reserves.");
  }
  if (username) return `username:${username}`;
  const hasUserClaim = OTHER_USER_CLAIMS.some((claim) => (answer[claim] ?? "") !== "");
  if (clientId && !hasUserClaim) return `client:${clientId}`;
  throw new TokenRefused(
    "The identity provider does not say whose token this is: introspection must return sub or username.",
  );
}

export function createIntrospection(provider: Provider, { client, cacheMs, now }: IntrospectionOptions): Verifier {
  async function getIntrospectionServer() {
    const { issuer, introspection_endpoint } = await provider.metadata();
    if (introspection_endpoint === undefined)
      throw new ProviderUnavailable("the identity provider's metadata names no introspection_endpoint");
    return { issuer, introspection_endpoint };
  }

  async function introspect(token: string): Promise<{ readonly active: boolean }> {
    const server = await getIntrospectionServer();
    const oauthClient = { client_id: client.id };
    try {
      const response = await oauth.introspectionRequest(
        server,
        oauthClient,
        oauth.ClientSecretBasic(client.secret),
        token,
        // The metadata has only URLs with https, or with http on this machine.
        { [oauth.customFetch]: provider.fetch, [oauth.allowInsecureRequests]: true },
      );
      return await oauth.processIntrospectionResponse(server, oauthClient, response);
    } catch (error) {
      throw new ProviderUnavailable(`the identity provider does not say whose a token is: ${errorMessage(error)}`, {
        cause: error,
      });
    }
  }

  return {
    async verifyClaims(token) {
      const response = await introspect(token);
      if (!response.active) throw new TokenRefused("The token is not in force.");
      const claims = IntrospectionResponse.safeParse(response).data;
      if (!claims) throw new ProviderUnavailable("what the identity provider says of a token cannot be read");
      if (claims.iss !== undefined && claims.iss !== provider.issuer)
        throw new TokenRefused("The token is another issuer's.");
      const nowSeconds = now() / 1_000;
      if ((claims.exp ?? Number.POSITIVE_INFINITY) < nowSeconds) throw new TokenRefused("The token has expired.");
      if ((claims.nbf ?? 0) > nowSeconds) throw new TokenRefused("The token is not in force yet.");
      const { client_id: clientId, ...others } = claims;
      return {
        exp: nowSeconds + cacheMs / 1_000,
        ...others,
        ...(clientId && { client_id: clientId }),
        sub: subjectOf(claims),
      };
    },

    async ready() {
      await getIntrospectionServer();
    },
  };
}
