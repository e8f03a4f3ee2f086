// The organisation's identity provider: where it has what (its metadata), and how it is asked.
import * as z from "zod/v4";
import { onceUntilFailure } from "../../async.ts";
import { reasonOf } from "../../failure.ts";
import { isLoopback } from "../../loopback.ts";
import { AnswerTooLarge, type Transport, TransportError } from "../../service/transport.ts";
import { ProviderUnavailable } from "./refused.ts";

const MAX_BYTES = 1024 * 1024;
const TIMEOUT_MS = 5_000;
/** Addresses of an identity provider change rarely, and with notice. */
const METADATA_MS = 3_600_000;

const isSafe = (text: string): boolean => {
  if (!URL.canParse(text)) return false;
  const { protocol, hostname } = new URL(text);
  const isOwn = hostname === "localhost" || isLoopback(hostname.replace(/^\[(.*)\]$/, "$1"));
  return protocol === "https:" || (protocol === "http:" && isOwn);
};
const url = z.string().refine(isSafe);

/** RFC 8414 and OpenID Connect Discovery; the rest of it is passed on to clients that ask here. */
const Metadata = z.looseObject({
  issuer: z.string(),
  authorization_endpoint: url,
  token_endpoint: url,
  jwks_uri: url.optional(),
  introspection_endpoint: url.optional(),
  response_types_supported: z.array(z.string()).default(["code"]),
});
export type ProviderMetadata = z.infer<typeof Metadata>;

export interface Provider {
  readonly issuer: string;
  /** From memory, once it is known. Throws ProviderUnavailable. */
  metadata(): Promise<ProviderMetadata>;
  /** The platform's fetch, by the way that all our requests go: with proxies, time limits and a limit of size. */
  fetch(this: void, url: string, init?: RequestInit): Promise<Response>;
}

export interface ProviderOptions {
  readonly issuer: string;
  readonly transport: Transport;
  monotonicMs(): number;
}

/** Where the metadata may be: as OpenID Connect has it, then as RFC 8414 does. */
function places(issuer: string): readonly string[] {
  const { origin, pathname } = new URL(issuer);
  const path = pathname.replace(/\/$/, "");
  return [
    `${origin}${path}/.well-known/openid-configuration`,
    `${origin}/.well-known/oauth-authorization-server${path}`,
  ];
}

function bodyOf(body: RequestInit["body"]): Buffer | undefined {
  if (body === undefined || body === null) return undefined;
  if (typeof body === "string" || body instanceof URLSearchParams) return Buffer.from(body.toString());
  throw new TypeError("a body of text is all that an identity provider is sent");
}

export function createProvider({ issuer, transport, monotonicMs }: ProviderOptions): Provider {
  let readAtMs = 0;
  let known: ProviderMetadata | undefined;

  async function fetch(target: string, init: RequestInit = {}): Promise<Response> {
    const { origin, pathname, search } = new URL(target);
    const body = bodyOf(init.body);
    const {
      status,
      headers,
      body: answer,
    } = await transport.exchange(
      {
        method: init.method === "POST" ? "POST" : "GET",
        origin,
        path: pathname + search,
        headers: Object.fromEntries(new Headers(init.headers)),
        ...(body && { body }),
      },
      { maxBytes: MAX_BYTES, timeoutMs: TIMEOUT_MS, signal: init.signal ?? new AbortController().signal },
    );
    // Statuses without a body may have none.
    return new Response(status === 204 || status === 304 ? null : new Uint8Array(answer), { status, headers });
  }

  async function readAt(place: string): Promise<ProviderMetadata> {
    const response = await fetch(place, { headers: { accept: "application/json" } });
    if (response.status !== 200) throw new ProviderUnavailable(`${place} answered HTTP ${response.status}`);
    const { data, error } = Metadata.safeParse(await response.json().catch(() => undefined));
    if (!data) {
      const fields = error.issues.map(({ path }) => path.join(".")).join(", ");
      throw new ProviderUnavailable(`${place} is no metadata of an identity provider${fields && ` (${fields})`}`);
    }
    // RFC 8414, 3.3: another's metadata could send tokens of another under this name.
    if (data.issuer !== issuer)
      throw new ProviderUnavailable(
        `${place} is of the issuer ${JSON.stringify(data.issuer)}; MIC_AUTH_ISSUER must be the same text`,
      );
    return data;
  }

  async function read(): Promise<ProviderMetadata> {
    const reasons: string[] = [];
    for (const place of places(issuer)) {
      try {
        const metadata = await readAt(place);
        readAtMs = monotonicMs();
        known = metadata;
        return metadata;
      } catch (error) {
        const isTheirs =
          error instanceof ProviderUnavailable || error instanceof TransportError || error instanceof AnswerTooLarge;
        if (!isTheirs) throw error;
        reasons.push(reasonOf(error));
      }
    }
    throw new ProviderUnavailable(`the identity provider cannot be asked: ${reasons.join("; ")}`);
  }

  let reading = onceUntilFailure(read);

  return {
    issuer,
    fetch,
    async metadata() {
      if (known === undefined) return await reading.get();
      if (monotonicMs() - readAtMs > METADATA_MS) {
        // What is known goes on, whatever comes of it.
        readAtMs = monotonicMs();
        reading = onceUntilFailure(read);
        reading.get().catch(() => undefined);
      }
      return known;
    },
  };
}
