// Bytes out, bytes in: one HTTP exchange with the service over undici, with proxies, size caps and time limits.
import { Readable } from "node:stream";
import type { Dispatcher } from "undici";
import { memoizeUntilFailure } from "../core/async.ts";
import { errorCode, errorMessage } from "../core/failure.ts";

export interface WireRequest {
  readonly method: "GET" | "POST";
  readonly origin: string;
  /** With its query, as it is sent. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: Buffer;
}

export interface WireResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

/** A response whose body is still to be read; it fails with a TransportError when it breaks off. */
export interface StreamedResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Readable;
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

export class ResponseTooLarge extends Error {
  override readonly name = "AnswerTooLarge";
  readonly response: Omit<StreamedResponse, "body">;

  constructor(maxBytes: number, { status, headers }: Omit<StreamedResponse, "body">) {
    super(`the answer is larger than ${maxBytes} bytes`);
    this.response = { status, headers };
  }
}

export interface SendLimits {
  /** Includes the wait for a free connection. */
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

export interface ExchangeLimits extends SendLimits {
  readonly maxBytes: number;
}

/** Both send once, and throw TransportError or, if the request may have been sent, the signal's reason. */
export interface Transport {
  /** Reads the whole body within the time. Throws AnswerTooLarge, too. */
  exchange(request: WireRequest, limits: ExchangeLimits): Promise<WireResponse>;
  /** Waits for the head within the time. The caller reads the body; the signal ends it. */
  openStream(request: WireRequest, limits: SendLimits): Promise<StreamedResponse>;
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

// A failed connection to a host of several addresses arrives as an AggregateError.
function wasSent(error: unknown): boolean {
  if (error instanceof AggregateError) return error.errors.some(wasSent);
  const code = errorCode(error);
  // A proxy that refuses CONNECT has passed nothing on; undici gives this no code of its own.
  const refusedByProxy = code === "UND_ERR_ABORTED" && errorMessage(error).startsWith("Proxy response");
  return !UNSENT.has(code) && !isTlsRefusal(code) && !refusedByProxy;
}

function describeError(error: unknown): string {
  if (error instanceof AggregateError) return error.errors.map(describeError).join("; ");
  const code = errorCode(error);
  const reason = errorMessage(error);
  return code === "" || reason.includes(code) ? reason : `${reason} (${code})`;
}

/** What came is not HTTP. undici gives its parser's errors no code, and its class answers to instanceof by a trait of its own. */
const isHttpParserError = (error: unknown): boolean => error instanceof Error && error.name === "HTTPParserError";

/** An error of the network or of undici, as a TransportError; anything else is a fault of our own and stays what it is. */
function toTransportError<E>(error: E): E | TransportError {
  if (errorCode(error) === "" && !isHttpParserError(error)) return error;
  return new TransportError(describeError(error), { sent: wasSent(error) }, { cause: error });
}

function flattenHeaders(headers: Record<string, string | string[] | undefined>): Record<string, string> {
  const flat: Record<string, string> = {};
  for (const name of Object.keys(headers)) {
    const value = headers[name];
    if (value !== undefined) flat[name] = Array.isArray(value) ? value.join(", ") : value;
  }
  return flat;
}

/** A body that brings nothing for this long is given up. */
const STALL_MS = 30_000;

/** Sends once. A request that is given up while it waits for a free connection is not sent any more. */
async function send<T>(
  dispatcher: Dispatcher,
  { method, origin, path, headers, body: content }: WireRequest,
  { timeoutMs, signal }: SendLimits,
  read: (response: StreamedResponse) => Promise<T>,
): Promise<T> {
  signal.throwIfAborted();
  try {
    return await new Promise<T>((resolve, reject) => {
      let controller: Dispatcher.DispatchController | undefined;
      let body: Readable | undefined;
      let isComplete = false;
      let broken: TransportError | undefined;

      function failWith(error: unknown): void {
        clearTimeout(timer);
        signal.removeEventListener("abort", onAbort);
        reject(error);
      }
      function giveUp(message: string, timedOut: boolean): void {
        broken = new TransportError(message, { sent: controller !== undefined, timedOut });
        failWith(broken);
        controller?.abort(broken);
      }
      const onAbort = () => giveUp("it was given up", false);
      const timeoutMessage = `no complete answer in time (this try had ${Math.round(timeoutMs / 100) / 10} s)`;
      const timer = setTimeout(() => giveUp(timeoutMessage, true), timeoutMs);
      signal.addEventListener("abort", onAbort, { once: true });

      dispatcher.dispatch(
        { origin, path, method, headers, body: content ?? null, headersTimeout: 0, bodyTimeout: STALL_MS },
        {
          onRequestStart(started) {
            controller = started;
            if (broken) started.abort(broken);
          },
          onResponseStart(started, status, fields) {
            if (status < 200) return;
            const bodyStream = new Readable({
              read: () => started.resume(),
              destroy(error, done) {
                if (!isComplete) started.abort(error ?? new Error("the rest is not wanted"));
                done(error);
              },
            });
            // A reader gets the error; it may come before there is a reader.
            bodyStream.on("error", () => undefined);
            bodyStream.once("close", () => signal.removeEventListener("abort", onAbort));
            body = bodyStream;
            read({ status, headers: flattenHeaders(fields), body: bodyStream })
              .then(resolve, failWith)
              .finally(() => clearTimeout(timer));
          },
          onResponseData(started, chunk) {
            if (body?.push(chunk) === false) started.pause();
          },
          onResponseEnd() {
            isComplete = true;
            body?.push(null);
          },
          onResponseError(_, error) {
            if (body) body.destroy(toTransportError(error));
            else failWith(error);
          },
        },
      );
    });
  } catch (error) {
    if (!(error instanceof TransportError) || error.sent) signal.throwIfAborted();
    throw toTransportError(error);
  }
}

const bufferResponse =
  (maxBytes: number) =>
  async ({ status, headers, body }: StreamedResponse): Promise<WireResponse> => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    for await (const chunk of body) {
      bytes += chunk.length;
      if (bytes > maxBytes) throw new ResponseTooLarge(maxBytes, { status, headers });
      chunks.push(chunk);
    }
    return { status, headers, body: Buffer.concat(chunks, bytes) };
  };

/** As undici reads them: it checks at each request whether one applies. */
const hasProxy = (): boolean =>
  ["http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY"].some((name) => Boolean(process.env[name]));

/** Per origin: 1,600 reads a second of a service that is 20 ms away, more than one process makes; 8 would bring 400. */
export const CONNECTIONS = 32;
/** Of files that are streamed: more than leave at once, so that a file can be looked at while many are read. */
const STREAM_CONNECTIONS = 128;

interface TransportOptions {
  /** HTTPS_PROXY, HTTP_PROXY and NO_PROXY are obeyed. */
  readonly proxies: boolean;
  /** Per origin; files that are streamed have others. */
  readonly connections?: number;
}

/** Connections are kept alive, no pipelining. */
export function createTransport(
  { proxies, connections = CONNECTIONS }: TransportOptions = { proxies: true },
): Transport {
  async function create(maxConnections: number): Promise<Dispatcher> {
    const { Agent, EnvHttpProxyAgent } = await import("./undici.ts");
    return new (proxies && hasProxy() ? EnvHttpProxyAgent : Agent)({ connections: maxConnections, pipelining: 1 });
  }
  const calls = memoizeUntilFailure(() => create(connections));
  /** Files have connections of their own: however slowly one is read, no call waits for it. */
  const files = memoizeUntilFailure(() => create(STREAM_CONNECTIONS));

  return {
    exchange: async (request, limits) =>
      await send(await calls.get(), request, limits, bufferResponse(limits.maxBytes)),
    openStream: async (request, limits) => await send(await files.get(), request, limits, async (response) => response),
    async close() {
      for (const started of [calls.ifStarted(), files.ifStarted()]) await (await started)?.destroy();
    },
  };
}
