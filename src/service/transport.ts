// Bytes out, bytes in: one HTTP exchange with the service over undici, with proxies, size caps and time limits.
import type { Dispatcher } from "undici";
import { reasonOf } from "../failure.ts";

export interface WireRequest {
  readonly method: "GET" | "POST";
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: Buffer;
}

export interface WireAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

/** A response whose body is still to be read. */
export interface OpenAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Dispatcher.ResponseData["body"];
}

/** The exchange broke. `sent`: whether the service may have received the request. */
export class TransportError extends Error {
  override readonly name = "TransportError";
  readonly sent: boolean;
  readonly timedOut: boolean;

  constructor(message: string, facts: { sent: boolean; timedOut?: boolean }, options?: ErrorOptions) {
    super(message, options);
    this.sent = facts.sent;
    this.timedOut = facts.timedOut ?? false;
  }
}

export class AnswerTooLarge extends Error {
  override readonly name = "AnswerTooLarge";
  readonly answer: Omit<OpenAnswer, "body">;

  constructor(maxBytes: number, { status, headers }: Omit<OpenAnswer, "body">) {
    super(`the answer is larger than ${maxBytes} bytes`);
    this.answer = { status, headers };
  }
}

export interface Transport {
  /** Sends once; reads the whole body up to `maxBytes`. Throws TransportError, AnswerTooLarge or the signal's reason. */
  exchange(
    request: WireRequest,
    limits: { maxBytes: number; timeoutMs: number; signal: AbortSignal },
  ): Promise<WireAnswer>;
  /** Sends once; the caller reads the body under the same signal. Headers must come within about `timeoutMs`. */
  open(request: WireRequest, limits: { timeoutMs: number; signal: AbortSignal }): Promise<OpenAnswer>;
  close(): Promise<void>;
}

// Errors that happen before a request can have reached the service.
const UNSENT = new Set([
  "ECONNREFUSED",
  "ENOTFOUND",
  "EAI_AGAIN",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "UND_ERR_CONNECT_TIMEOUT",
  "UND_ERR_INVALID_ARG",
  "UND_ERR_PRX_TLS",
]);
const isTlsRefusal = (code: string): boolean => /CERT|SELF_SIGNED|UNABLE_TO_|ERR_TLS|ERR_SSL|EPROTO/.test(code);

const codeOf = (error: unknown): string =>
  error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : "";

// A failed connection to a host of several addresses arrives as an AggregateError.
function wasSent(error: unknown): boolean {
  if (error instanceof AggregateError) return error.errors.some(wasSent);
  const code = codeOf(error);
  // A proxy that refuses CONNECT has passed nothing on; undici gives this no code of its own.
  const refusedByProxy = code === "UND_ERR_ABORTED" && reasonOf(error).startsWith("Proxy response");
  return !UNSENT.has(code) && !isTlsRefusal(code) && !refusedByProxy;
}

function describe(error: unknown): string {
  if (error instanceof AggregateError) return error.errors.map(describe).join("; ");
  const code = codeOf(error);
  const reason = reasonOf(error);
  return code === "" || reason.includes(code) ? reason : `${reason} (${code})`;
}

/** An error of the network or of undici, as a TransportError; anything else is a fault of our own and stays what it is. */
function transportError(error: unknown): unknown {
  if (codeOf(error) === "") return error;
  return new TransportError(describe(error), { sent: wasSent(error) }, { cause: error });
}

function flatHeaders(headers: Record<string, string | string[] | undefined>): Record<string, string> {
  const flat: Record<string, string> = {};
  for (const [name, value] of Object.entries(headers)) {
    if (value !== undefined) flat[name] = Array.isArray(value) ? value.join(", ") : value;
  }
  return flat;
}

async function readCapped(answer: OpenAnswer, maxBytes: number): Promise<Buffer> {
  // No more comes than was announced: the parser of HTTP sees to it.
  if (Number(answer.headers["content-length"]) <= maxBytes) return Buffer.from(await answer.body.arrayBuffer());
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of answer.body) {
    size += chunk.length;
    if (size > maxBytes) {
      answer.body.destroy();
      throw new AnswerTooLarge(maxBytes, answer);
    }
    chunks.push(chunk);
  }
  return chunks.length === 1 && chunks[0] !== undefined ? chunks[0] : Buffer.concat(chunks);
}

/** A body that brings nothing for this long is given up. */
const STALL_MS = 30_000;

/** As undici reads them: it asks anew at each request whether one applies. */
const hasProxy = (): boolean =>
  ["http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY"].some((name) => Boolean(process.env[name]));

/** Connections are kept alive, 8 per origin, no pipelining. `proxies`: HTTPS_PROXY, HTTP_PROXY and NO_PROXY are obeyed. */
export function createTransport({ proxies } = { proxies: true }): Transport {
  let undici: typeof import("./undici.ts") | undefined;
  let dispatcher: Dispatcher | undefined;

  async function send(
    request: WireRequest,
    signal: AbortSignal,
    { headersTimeout, bodyTimeout } = { headersTimeout: 0, bodyTimeout: 0 },
  ): Promise<OpenAnswer> {
    undici ??= await import("./undici.ts");
    dispatcher ??= new (proxies && hasProxy() ? undici.EnvHttpProxyAgent : undici.Agent)({
      connections: 8,
      pipelining: 1,
    });
    const { statusCode, headers, body } = await undici.request(request.url, {
      dispatcher,
      method: request.method,
      headers: request.headers,
      body: request.body ?? null,
      signal,
      headersTimeout,
      bodyTimeout,
    });
    return { status: statusCode, headers: flatHeaders(headers), body };
  }

  const tooLate = (timeoutMs: number, cause: unknown): TransportError => {
    const message = `no complete answer within ${Math.round(timeoutMs / 100) / 10} s`;
    return new TransportError(message, { sent: true, timedOut: true }, { cause });
  };

  return {
    async exchange(request, { maxBytes, timeoutMs, signal }) {
      signal.throwIfAborted();
      // AbortSignal.any would cost as much as the rest of a call's bookkeeping.
      const ending = new AbortController();
      let isLate = false;
      const alarm = setTimeout(() => {
        isLate = true;
        ending.abort();
      }, timeoutMs);
      const stop = () => ending.abort(signal.reason);
      signal.addEventListener("abort", stop, { once: true });
      try {
        const answer = await send(request, ending.signal);
        return { status: answer.status, headers: answer.headers, body: await readCapped(answer, maxBytes) };
      } catch (error) {
        if (error instanceof AnswerTooLarge) throw error;
        signal.throwIfAborted();
        if (isLate) throw tooLate(timeoutMs, error);
        throw transportError(error);
      } finally {
        clearTimeout(alarm);
        signal.removeEventListener("abort", stop);
      }
    },
    async open(request, { timeoutMs, signal }) {
      signal.throwIfAborted();
      try {
        return await send(request, signal, { headersTimeout: timeoutMs, bodyTimeout: STALL_MS });
      } catch (error) {
        signal.throwIfAborted();
        if (codeOf(error) === "UND_ERR_HEADERS_TIMEOUT") throw tooLate(timeoutMs, error);
        throw transportError(error);
      }
    },
    async close() {
      await dispatcher?.destroy();
    },
  };
}
