// Bytes out, bytes in: one HTTP exchange with the service over undici, with proxies, size caps and time limits.
import type { Dispatcher } from "undici";
import { errorCode, reasonOf } from "../failure.ts";

export interface WireRequest {
  readonly method: "GET" | "POST";
  readonly origin: string;
  /** With its query, as it is sent. */
  readonly path: string;
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

export interface ExchangeLimits {
  readonly maxBytes: number;
  /** For all of it, the wait for a free connection included. */
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

export interface Transport {
  /**
   * Sends once; reads the whole body up to `maxBytes`. Throws TransportError, AnswerTooLarge or, when the request may have
   * gone out, the signal's reason.
   */
  exchange(request: WireRequest, limits: ExchangeLimits): Promise<WireAnswer>;
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

// A failed connection to a host of several addresses arrives as an AggregateError.
function wasSent(error: unknown): boolean {
  if (error instanceof AggregateError) return error.errors.some(wasSent);
  const code = errorCode(error);
  // A proxy that refuses CONNECT has passed nothing on; undici gives this no code of its own.
  const refusedByProxy = code === "UND_ERR_ABORTED" && reasonOf(error).startsWith("Proxy response");
  return !UNSENT.has(code) && !isTlsRefusal(code) && !refusedByProxy;
}

function describe(error: unknown): string {
  if (error instanceof AggregateError) return error.errors.map(describe).join("; ");
  const code = errorCode(error);
  const reason = reasonOf(error);
  return code === "" || reason.includes(code) ? reason : `${reason} (${code})`;
}

/** What came is not HTTP. undici gives its parser's errors no code, and its class answers to instanceof by a trait of its own. */
const isNoHttp = (error: unknown): boolean => error instanceof Error && error.name === "HTTPParserError";

/** An error of the network or of undici, as a TransportError; anything else is a fault of our own and stays what it is. */
function transportError(error: unknown): unknown {
  if (errorCode(error) === "" && !isNoHttp(error)) return error;
  return new TransportError(describe(error), { sent: wasSent(error) }, { cause: error });
}

function flatHeaders(headers: Record<string, string | string[] | undefined>): Record<string, string> {
  const flat: Record<string, string> = {};
  for (const name of Object.keys(headers)) {
    const value = headers[name];
    if (value !== undefined) flat[name] = Array.isArray(value) ? value.join(", ") : value;
  }
  return flat;
}

const tooLate = (timeoutMs: number, { sent }: { sent: boolean }, cause?: unknown): TransportError =>
  new TransportError(
    `no complete answer in time (this try had ${Math.round(timeoutMs / 100) / 10} s)`,
    { sent, timedOut: true },
    { cause },
  );

/** No stream stands between, and none is made: the answer's pieces are kept as they come, up to `maxBytes`. */
function wholeAnswer(
  dispatcher: Dispatcher,
  { method, origin, path, headers, body }: WireRequest,
  { maxBytes, timeoutMs, signal }: ExchangeLimits,
): Promise<WireAnswer> {
  return new Promise((resolve, reject) => {
    let controller: Dispatcher.DispatchController | undefined;
    let head: Omit<OpenAnswer, "body"> | undefined;
    const chunks: Buffer[] = [];
    let bytes = 0;
    let isGivenUp = false;

    function end(): void {
      clearTimeout(alarm);
      signal.removeEventListener("abort", onAbort);
    }
    /** Also of a request that still waits for a free connection: it is not sent any more. */
    function giveUp(error: Error): void {
      isGivenUp = true;
      end();
      reject(error);
      controller?.abort(error);
    }
    const isSent = () => controller !== undefined;
    const onAbort = () => giveUp(new TransportError("it was given up", { sent: isSent() }));
    const alarm = setTimeout(() => giveUp(tooLate(timeoutMs, { sent: isSent() })), timeoutMs);
    signal.addEventListener("abort", onAbort, { once: true });

    const noLimits = { headersTimeout: 0, bodyTimeout: 0 };
    dispatcher.dispatch(
      { origin, path, method, headers, body: body ?? null, ...noLimits },
      {
        onRequestStart(started) {
          controller = started;
          if (isGivenUp) started.abort(new Error("it was given up"));
        },
        onResponseStart(_, status, fields) {
          if (status >= 200) head = { status, headers: flatHeaders(fields) };
        },
        onResponseData(_, chunk) {
          if (isGivenUp) return;
          bytes += chunk.length;
          if (head && bytes > maxBytes) giveUp(new AnswerTooLarge(maxBytes, head));
          else chunks.push(chunk);
        },
        onResponseEnd() {
          end();
          if (!head) return;
          const { status, headers } = head;
          resolve({
            status,
            headers,
            body: chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks, bytes),
          });
        },
        onResponseError(_, error) {
          end();
          reject(error);
        },
      },
    );
  });
}

/** A body that brings nothing for this long is given up. */
const STALL_MS = 30_000;

/** As undici reads them: it asks anew at each request whether one applies. */
const hasProxy = (): boolean =>
  ["http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY"].some((name) => Boolean(process.env[name]));

/** Per origin: 1,600 reads a second of a service that is 20 ms away, more than one process makes; 8 would bring 400. */
export const CONNECTIONS = 32;
/** Of files that are streamed: more than leave at once, so that a file can be looked at while many are read. */
const STREAMS = 128;

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
  let undici: typeof import("./undici.ts") | undefined;
  let dispatcher: Dispatcher | undefined;
  let streams: Dispatcher | undefined;

  async function loaded() {
    undici ??= await import("./undici.ts");
    const { Agent, EnvHttpProxyAgent, request } = undici;
    const create = (connections: number): Dispatcher =>
      new (proxies && hasProxy() ? EnvHttpProxyAgent : Agent)({ connections, pipelining: 1 });
    return { create, request };
  }
  async function ready(): Promise<Dispatcher> {
    const { create } = await loaded();
    dispatcher ??= create(connections);
    return dispatcher;
  }
  /** Files have connections of their own: however slowly somebody reads them, no call waits for one. */
  async function readyForStreams() {
    const { create, request } = await loaded();
    streams ??= create(STREAMS);
    return { request, streams };
  }

  return {
    async exchange(request, limits) {
      const by = dispatcher ?? (await ready());
      limits.signal.throwIfAborted();
      try {
        return await wholeAnswer(by, request, limits);
      } catch (error) {
        const isKnownUnsent = error instanceof TransportError && !error.sent;
        if (!isKnownUnsent) limits.signal.throwIfAborted();
        throw transportError(error);
      }
    },
    async open({ method, origin, path, headers, body }, { timeoutMs, signal }) {
      signal.throwIfAborted();
      const { request, streams: dispatcher } = await readyForStreams();
      const limits = { signal, headersTimeout: timeoutMs, bodyTimeout: STALL_MS };
      try {
        const answer = await request(origin + path, {
          dispatcher,
          method,
          headers,
          body: body ?? null,
          ...limits,
        });
        return { status: answer.statusCode, headers: flatHeaders(answer.headers), body: answer.body };
      } catch (error) {
        signal.throwIfAborted();
        if (errorCode(error) === "UND_ERR_HEADERS_TIMEOUT") throw tooLate(timeoutMs, { sent: true }, error);
        throw transportError(error);
      }
    },
    async close() {
      await Promise.all([dispatcher?.destroy(), streams?.destroy()]);
    },
  };
}
