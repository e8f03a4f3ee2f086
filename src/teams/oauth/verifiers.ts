// Checks access tokens: JWTs with the keys that the identity provider publishes, opaque tokens by introspection (RFC 7662).
import { createRemoteJWKSet, customFetch, errors, jwtVerify } from "jose";
import { LRUCache } from "lru-cache";
import * as oauth from "oauth4webapi";
import * as z from "zod/v4";
import { errorCode, errorMessage } from "../../core/failure.ts";
import type { SignInSettings } from "../settings.ts";
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

/** Checks tokens of one provider. The methods throw TokenRefused or ProviderUnavailable. */
export interface Verifier {
  /** Returns the claims of a valid token. `hash`: the hash of the token, by which the verifier stores facts about it. */
  verifyClaims(token: string, hash: string): Promise<unknown>;
  ready(): Promise<void>;
}

/** Verifies JWTs without a request to the provider, except to read its keys. */
export function createJwtVerifier(provider: Provider, monotonicMs: () => number): Verifier {
  let cached: { readonly jwksUri: string; readonly keys: ReturnType<typeof createSigningKeys> } | undefined;

  async function getKeys() {
    const { jwks_uri: jwksUri } = await provider.metadata();
    if (jwksUri === undefined) throw new ProviderUnavailable("the identity provider's metadata has no jwks_uri");
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

    async ready() {
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

export interface IntrospectionOptions {
  readonly client: NonNullable<SignInSettings["client"]>;
  /** Validity, in milliseconds, of a token whose introspection response has no `exp`. */
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

/** Claims that some providers use to identify a user, instead of `sub` and `username` (Cloud Foundry UAA, OpenID Connect). */
const OTHER_USER_CLAIMS = ["user_id", "user_name", "preferred_username", "email"];
const DERIVED_SUBJECT = /^(?:username|client):/;

/**
 * Returns the subject of the caller. `sub` and `username` are both optional (RFC 7662, 2.2). A subject that is derived from another member
 * has a prefix. A `sub` with such a prefix is refused, so no username or client id can equal the `sub` of a user. All users of a client
 * have the same `client_id`, so it is the subject only if the response names no user (client credentials). Throws TokenRefused.
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
  throw new TokenRefused("The identity provider did not identify the user: introspection must return sub or username.");
}

/** Verifies each token by a request to the introspection endpoint (RFC 7662). */
export function createIntrospection(provider: Provider, { client, cacheMs, now }: IntrospectionOptions): Verifier {
  async function getIntrospectionServer() {
    const { issuer, introspection_endpoint } = await provider.metadata();
    if (introspection_endpoint === undefined)
      throw new ProviderUnavailable("the identity provider's metadata has no introspection_endpoint");
    return { issuer, introspection_endpoint };
  }

  /** Most providers do not decode Basic credentials (RFC 6749, 2.3.1), so only characters that need it are encoded. */
  const basic: oauth.ClientAuth = (_server, _client, _body, headers) => {
    const credentials = [client.id, client.secret].map(encodeURIComponent).join(":");
    headers.set("authorization", `Basic ${Buffer.from(credentials).toString("base64")}`);
  };
  const clientAuthentications = [basic, oauth.ClientSecretPost(client.secret)];

  async function introspect(token: string): Promise<{ readonly active: boolean }> {
    const server = await getIntrospectionServer();
    const oauthClient = { client_id: client.id };
    // The metadata was checked: its URLs use https, or http on this machine.
    const options = { [oauth.customFetch]: provider.fetch, [oauth.allowInsecureRequests]: true };
    const send = (authentication: oauth.ClientAuth) =>
      oauth.introspectionRequest(server, oauthClient, authentication, token, options);
    try {
      const [first = basic, other = basic] = clientAuthentications;
      let response = await send(first);
      if (response.status === 400 || response.status === 401) {
        const second = await send(other);
        if (second.status === 200) {
          response = second;
          clientAuthentications.reverse();
        }
      }
      if (response.status !== 200) {
        const advice = response.status === 401 ? "; check MIC_AUTH_CLIENT_ID and MIC_AUTH_CLIENT_SECRET" : "";
        throw new Error(`${server.introspection_endpoint} returned HTTP ${response.status}${advice}`);
      }
      return await oauth.processIntrospectionResponse(server, oauthClient, response);
    } catch (error) {
      throw new ProviderUnavailable(`token introspection at the identity provider failed: ${errorMessage(error)}`, {
        cause: error,
      });
    }
  }

  return {
    async verifyClaims(token) {
      const response = await introspect(token);
      if (!response.active) throw new TokenRefused("The token is expired, revoked or not yet valid.", "expired_token");
      const claims = IntrospectionResponse.safeParse(response).data;
      if (!claims) throw new ProviderUnavailable("the identity provider's introspection response is invalid");
      if (claims.iss !== undefined && claims.iss !== provider.issuer)
        throw new TokenRefused("The token has another issuer.");
      const nowSeconds = now() / 1_000;
      if ((claims.exp ?? Number.POSITIVE_INFINITY) < nowSeconds)
        throw new TokenRefused("The token has expired.", "expired_token");
      if ((claims.nbf ?? 0) > nowSeconds) throw new TokenRefused("The token is not yet valid.");
      const { client_id: clientId, ...others } = claims;
      return {
        exp: nowSeconds + cacheMs / 1_000,
        ...others,
        ...(clientId && { client_id: clientId }),
        sub: subjectOf(claims),
      };
    },

    /** Sends a real request: a wrong secret or endpoint would otherwise appear only when a user signs in. */
    async ready() {
      await introspect("readiness-probe");
    },
  };
}
