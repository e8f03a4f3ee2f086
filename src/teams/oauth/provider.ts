// Connects to the organization's identity provider: reads its metadata, sends requests to it, and defines the errors of token checks.
import * as z from "zod/v4";
import { ResponseTooLarge, type Transport, TransportError } from "../../api-client/transport.ts";
import { errorMessage } from "../../core/failure.ts";
import { isSecureUrl } from "../../core/loopback.ts";

/** The token is not acceptable. The message is sent to the caller. */
export class TokenRefused extends Error {
  override readonly name = "TokenRefused";
  readonly reason: "invalid_token" | "expired_token" | "wrong_audience";

  constructor(message: string, reason: TokenRefused["reason"] = "invalid_token") {
    super(message);
    this.reason = reason;
  }
}

/** The identity provider cannot be used, so the token cannot be checked. The log and /readyz contain the message. */
export class ProviderUnavailable extends Error {
  override readonly name: string = "ProviderUnavailable";
}

/** The token's key was not among the provider's keys when they were last read. They are not read again within `retryAfterSeconds`. */
export class SigningKeyUnknown extends ProviderUnavailable {
  override readonly name = "SigningKeyUnknown";
  readonly retryAfterSeconds: number;

  constructor(retryAfterSeconds: number) {
    super("the signing key of a token is not among the identity provider's cached keys");
    this.retryAfterSeconds = retryAfterSeconds;
  }
}

const MAX_BYTES = 1024 * 1024;
const TIMEOUT_MS = 5_000;
/** The metadata is read again after this time. */
const METADATA_REFRESH_MS = 3_600_000;
/** /readyz reads the metadata again after this time. */
const PROBE_MS = 30_000;

const url = z.string().refine((text) => URL.canParse(text) && isSecureUrl(new URL(text)));

/** Metadata by RFC 8414 and OpenID Connect Discovery. The other members are kept, because clients receive the document from this server. */
const Metadata = z.looseObject({
  issuer: z.string(),
  authorization_endpoint: url,
  token_endpoint: url,
  jwks_uri: url.optional(),
  response_types_supported: z.array(z.string()).default(["code"]),
});
export type ProviderMetadata = z.infer<typeof Metadata>;

export type Provider = ReturnType<typeof createProvider>;

export interface ProviderOptions {
  readonly issuer: string;
  readonly transport: Transport;
  monotonicMs(): number;
}

/** URLs of the metadata: first the URL of OpenID Connect Discovery, then the URL of RFC 8414. */
function metadataUrls(issuer: string): readonly string[] {
  const { origin, pathname } = new URL(issuer);
  const path = pathname.replace(/\/$/, "");
  return [
    `${origin}${path}/.well-known/openid-configuration`,
    `${origin}/.well-known/oauth-authorization-server${path}`,
  ];
}

export function createProvider({ issuer, transport, monotonicMs }: ProviderOptions) {
  let readAtMs = 0;
  let cachedMetadata: ProviderMetadata | undefined;

  /** Like a GET of the global `fetch`, through this program's transport: with proxies, a timeout of 5 s and a limit of 1 MiB. */
  async function fetch(target: string, init: RequestInit = {}): Promise<Response> {
    const { origin, pathname, search } = new URL(target);
    const answer = await transport.exchange(
      { method: "GET", origin, path: pathname + search, headers: Object.fromEntries(new Headers(init.headers)) },
      { maxBytes: MAX_BYTES, timeoutMs: TIMEOUT_MS, signal: init.signal ?? new AbortController().signal },
    );
    const { status, headers } = answer;
    // The constructor of Response refuses a body for these statuses.
    return new Response(status === 204 || status === 304 ? null : new Uint8Array(answer.body), { status, headers });
  }

  async function fetchMetadataFrom(metadataUrl: string): Promise<ProviderMetadata> {
    const response = await fetch(metadataUrl, { headers: { accept: "application/json" } });
    if (response.status !== 200) throw new ProviderUnavailable(`${metadataUrl} returned HTTP ${response.status}`);
    const { data, error } = Metadata.safeParse(await response.json().catch(() => undefined));
    if (!data) {
      const fields = error.issues.map(({ path }) => path.join(".")).join(", ");
      throw new ProviderUnavailable(
        `${metadataUrl} is not valid identity provider metadata${fields && ` (${fields})`}`,
      );
    }
    // RFC 8414, 3.3: metadata of another issuer could pass off tokens of that issuer as tokens of this one.
    if (data.issuer !== issuer)
      throw new ProviderUnavailable(
        `${metadataUrl} has the issuer ${JSON.stringify(data.issuer)}; MIC_AUTH_ISSUER must be identical to it`,
      );
    return data;
  }

  async function fetchMetadata(): Promise<ProviderMetadata> {
    const reasons: string[] = [];
    for (const metadataUrl of metadataUrls(issuer)) {
      try {
        const metadata = await fetchMetadataFrom(metadataUrl);
        readAtMs = monotonicMs();
        cachedMetadata = metadata;
        return metadata;
      } catch (error) {
        const isProviderError =
          error instanceof ProviderUnavailable || error instanceof TransportError || error instanceof ResponseTooLarge;
        if (!isProviderError) throw error;
        reasons.push(errorMessage(error));
      }
    }
    throw new ProviderUnavailable(`the identity provider is not available: ${reasons.join("; ")}`);
  }

  let probedAtMs = monotonicMs();
  let outage: string | undefined;
  let reading: Promise<ProviderMetadata> | undefined;
  function readMetadata(): Promise<ProviderMetadata> {
    reading ??= fetchMetadata().finally(() => (reading = undefined));
    return reading;
  }

  return {
    issuer,
    fetch,
    /** Cached after the first successful read. Throws ProviderUnavailable. */
    async metadata(): Promise<ProviderMetadata> {
      if (cachedMetadata === undefined) return await readMetadata();
      if (monotonicMs() - readAtMs > METADATA_REFRESH_MS) {
        // Refreshed in the background: the cached metadata stays valid if this fails.
        readAtMs = monotonicMs();
        readMetadata().catch(() => undefined);
      }
      return cachedMetadata;
    },
    /** Resolves with the reason if the provider could not be reached in the last 30 s: users cannot sign in, although tokens still work. */
    async findOutage(): Promise<string | undefined> {
      if (monotonicMs() - probedAtMs > PROBE_MS) {
        probedAtMs = monotonicMs();
        outage = await readMetadata().then(() => undefined, errorMessage);
      }
      return outage;
    },
  };
}
