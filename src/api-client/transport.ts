// The transport makes HTTP exchanges with the API over undici, with proxies, size limits and time limits.
import { Readable } from "node:stream";
import type { buildConnector, Dispatcher, Pool } from "undici";
import { errorCode, errorMessage, Failure } from "../core/failure.ts";
import { ask, raw, say } from "../core/text.ts";
import { contentCodingOf, decodeBody } from "./content-codings.ts";
import { proxyUrlFor, proxyVariableFor } from "./proxies.ts";

export interface WireRequest {
  readonly method: "GET" | "POST";
  readonly origin: string;
  /** The path with its query, as it is sent. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: Buffer;
}

export interface WireResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

/** A response whose body is not read yet. The body fails with a TransportError if it breaks off. */
export interface StreamedResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Readable;
  /** False if the body ends with its connection: then an early end looks like a complete body. */
  readonly isDelimited: boolean;
}

/**
 * The exchange failed. `sent`: whether the API may have received the request. `setting`: the variable that names the host that could not be
 * reached: MIC_BASE_URL, or that of a proxy.
 */
export class TransportError extends Error {
  override readonly name = "TransportError";
  readonly sent: boolean;
  readonly timedOut: boolean;
  readonly setting: string;

  constructor(
    message: string,
    { sent, timedOut = false, proxy }: { sent: boolean; timedOut?: boolean; proxy?: string | undefined },
    options?: ErrorOptions,
  ) {
    super(proxy === undefined ? message : `the proxy that ${proxy} names failed: ${message}`, options);
    this.sent = sent;
    this.timedOut = timedOut;
    this.setting = proxy ?? "MIC_BASE_URL";
  }
}

export class ResponseTooLarge extends Error {
  override readonly name = "ResponseTooLarge";
  readonly response: ResponseHead;

  constructor(maxBytes: number, { status, headers }: ResponseHead) {
    super(`the answer is larger than ${maxBytes} bytes`);
    this.response = { status, headers };
  }
}

export interface SendLimits {
  /** Time limit, which includes the wait for a free connection. */
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

export type ExchangeLimits = SendLimits & { readonly maxBytes: number };

/** The first two methods send once. They throw the signal's reason or TransportError. */
export interface Transport {
  /** Also throws ResponseTooLarge. The body of an error (400 and higher) that is too large is dropped instead. */
  exchange(request: WireRequest, limits: ExchangeLimits): Promise<WireResponse>;
  /** Waits for the response head within the time limit. The calling code reads the body; the signal aborts it. */
  openStream(request: WireRequest, limits: SendLimits): Promise<StreamedResponse>;
  /** Returns the variable of the proxy that is used for this URL; undefined if none is used. */
  proxyFor(url: string): string | undefined;
  close(): Promise<void>;
}

/** Errors of a connection: to the proxy if there is one, else to the API. */
const UNREACHABLE = [
  "ECONNREFUSED",
  "ENOTFOUND",
  "EAI_AGAIN",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "UND_ERR_CONNECT_TIMEOUT",
  "UND_ERR_PRX_TLS",
];
// Errors that occur before a request can have reached the API.
const UNSENT = new Set([...UNREACHABLE, "UND_ERR_INVALID_ARG"]);
const isTlsRefusal = (code: string): boolean => /CERT|SELF_SIGNED|UNABLE_TO_|ERR_TLS|ERR_SSL|EPROTO/.test(code);

function wasSent(error: unknown): boolean {
  // Only a failed connection to a host with several addresses is reported as an AggregateError.
  if (error instanceof AggregateError) return false;
  const code = errorCode(error);
  return !UNSENT.has(code) && !isTlsRefusal(code) && !isProxyRefusal(error);
}

/** A proxy that refuses CONNECT has forwarded nothing. undici has no separate code for this. */
const isProxyRefusal = (error: unknown): boolean =>
  errorCode(error) === "UND_ERR_ABORTED" && errorMessage(error).startsWith("Proxy response");

/** Returns whether an error of a request through a proxy is the proxy's. An error of TLS may be about the API's certificate. */
const isProxyError = (error: unknown): boolean =>
  error instanceof AggregateError
    ? error.errors.some(isProxyError)
    : isProxyRefusal(error) || UNREACHABLE.includes(errorCode(error));

/** undici ends the connection at these answers, and does not name them. It skips every other 1xx. */
const INTERIM_ANSWERS: Readonly<Record<string, string>> = {
  "bad response": "it sent the interim answer 100 Continue, which was not requested and cannot be skipped",
  "bad upgrade": "it answered with a change of protocols, which was not requested",
};

function describeError(error: unknown): string {
  if (error instanceof AggregateError) return error.errors.map(describeError).join("; ");
  const code = errorCode(error);
  const message = errorMessage(error);
  const reason = code === "UND_ERR_SOCKET" ? (INTERIM_ANSWERS[message] ?? message) : message;
  return code === "" || reason.includes(code) ? reason : `${reason} (${code})`;
}

/** True if the response is not HTTP. The name is compared, because undici's parser errors have no code and a special instanceof. */
const isHttpParserError = (error: unknown): boolean => error instanceof Error && error.name === "HTTPParserError";

/**
 * Converts an error of the network or of undici into a TransportError. Any other error of a request that was started is internal and is
 * returned unchanged.
 */
function toTransportError<E>(error: E, isStarted: boolean, proxy?: string): E | TransportError {
  if (error instanceof TransportError) return error;
  if (isStarted && errorCode(error) === "" && !isHttpParserError(error)) return error;
  return new TransportError(describeError(error), { sent: isStarted && wasSent(error), proxy }, { cause: error });
}

function flattenHeaders(headers: Record<string, string | string[] | undefined>): Record<string, string> {
  const flat: Record<string, string> = {};
  for (const name of Object.keys(headers)) {
    const value = headers[name];
    if (value !== undefined) flat[name] = Array.isArray(value) ? value.join(", ") : value;
  }
  return flat;
}

/** A body that receives no bytes for this time is aborted. */
const STALL_MS = 30_000;

type ResponseHead = Omit<WireResponse, "body">;

interface BodyReceiver {
  /** Returns false if the rest must wait until the body is read. */
  push(chunk: Buffer): boolean;
  end(): void;
  fail(error: Error): void;
}

/** Ends one exchange. */
interface ExchangeEnd<T> {
  readonly controller: Dispatcher.DispatchController;
  succeed(value: T): void;
  fail(error: unknown): void;
  /** Called when the body is complete or no longer wanted: from then on, the signal does not abort it. */
  release(): void;
}

/**
 * Sends once. A request that is aborted while it waits for a free connection is not sent. Not an async function, which
 * would cost memory for each call in flight.
 */
function send<T>(
  dispatcher: Dispatcher,
  { method, origin, path, headers, body: content }: WireRequest,
  { timeoutMs, signal, proxyFor }: SendLimits & Pick<Transport, "proxyFor">,
  receive: (head: ResponseHead, end: ExchangeEnd<T>) => BodyReceiver,
): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    signal.throwIfAborted();
    let controller: Dispatcher.DispatchController | undefined;
    let receiver: BodyReceiver | undefined;
    let broken: TransportError | undefined;

    const release = () => signal.removeEventListener("abort", onAbort);
    function succeed(value: T): void {
      clearTimeout(timer);
      resolve(value);
    }
    function fail(error: unknown): void {
      clearTimeout(timer);
      release();
      const isUnsent = error instanceof TransportError && !error.sent;
      if (signal.aborted && !isUnsent) reject(signal.reason);
      else
        reject(toTransportError(error, controller !== undefined, isProxyError(error) ? proxyFor(origin) : undefined));
    }
    function giveUp(message: string, timedOut: boolean): void {
      // The request starts when the proxy has connected to the API.
      const proxy = timedOut && controller === undefined ? proxyFor(origin) : undefined;
      broken = new TransportError(message, { sent: controller !== undefined, timedOut, proxy });
      fail(broken);
      controller?.abort(broken);
    }
    const onAbort = () => giveUp("it was given up", false);
    const timeoutMessage = () => `no complete answer in time (this try had ${Math.round(timeoutMs / 100) / 10} s)`;
    const timer = setTimeout(() => giveUp(timeoutMessage(), true), timeoutMs);
    signal.addEventListener("abort", onAbort, { once: true });

    try {
      dispatcher.dispatch(
        { origin, path, method, headers, body: content ?? null, headersTimeout: 0, bodyTimeout: STALL_MS },
        {
          onRequestStart(started) {
            controller = started;
            if (broken) started.abort(broken);
          },
          onResponseStart(started, status, fields) {
            if (status < 200) return;
            receiver = receive(
              { status, headers: flattenHeaders(fields) },
              { controller: started, succeed, fail, release },
            );
          },
          onResponseData(started, chunk) {
            if (receiver?.push(chunk) === false) started.pause();
          },
          onResponseEnd: () => receiver?.end(),
          onResponseError(_, error) {
            if (receiver) receiver.fail(toTransportError(error, true));
            else fail(error);
          },
        },
      );
    } catch (error) {
      fail(error);
    }
  });
}

/** Resolves with the complete body. Rejects one that is too large, but drops that of an error, whose status is sufficient. */
const receiveBuffer =
  (maxBytes: number) =>
  (head: ResponseHead, { controller, succeed, fail, release }: ExchangeEnd<WireResponse>): BodyReceiver => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    return {
      push(chunk) {
        bytes += chunk.length;
        if (bytes <= maxBytes) chunks.push(chunk);
        else {
          const tooLarge = new ResponseTooLarge(maxBytes, head);
          if (head.status < 400) fail(tooLarge);
          else {
            release();
            succeed({ ...head, body: Buffer.alloc(0) });
          }
          controller.abort(tooLarge);
        }
        return true;
      },
      end() {
        release();
        const body = Buffer.concat(chunks, bytes);
        const response = { body, ...head };
        succeed(contentCodingOf(head) === undefined ? response : decodeBody(response, maxBytes));
      },
      fail,
    };
  };

/** Resolves with the head, and a stream of the body. */
function receiveStream(head: ResponseHead, { controller, succeed, release }: ExchangeEnd<StreamedResponse>) {
  let isComplete = false;
  const body = new Readable({
    read: () => controller.resume(),
    destroy(error, done) {
      if (!isComplete) controller.abort(error ?? new Error("the rest is not wanted"));
      done(error);
    },
  });
  // A reader receives the error. This listener is for an error that occurs before there is a reader.
  body.on("error", () => undefined);
  body.once("close", release);
  const { "content-length": length, "transfer-encoding": transferCoding = "" } = head.headers;
  succeed({ ...head, body, isDelimited: length !== undefined || /chunked/i.test(transferCoding) });
  return {
    push: (chunk: Buffer) => body.push(chunk),
    end() {
      isComplete = true;
      body.push(null);
    },
    fail: (error: Error) => void body.destroy(error),
  };
}

/** undici takes a reset (ECONNRESET) for the end of a body without a stated length, so it gets another code first. */
function renameReset(error: NodeJS.ErrnoException): void {
  if (error.code === "ECONNRESET") error.code = "RESET";
}

const withResets =
  (connect: buildConnector.connector): buildConnector.connector =>
  (options, callback) =>
    connect(options, (...result) => {
      result[1]?.prependListener("error", renameReset);
      callback(...result);
    });

/** Connections per origin; idle ones are closed after 4 s. As many as requests in flight on stdio, so that no call waits for another. */
const CONNECTIONS = 128;
/** Connections per origin for streamed files. More than a deployment forwards at once (64), so that a file can be previewed meanwhile. */
const STREAM_CONNECTIONS = 128;

const startFailure = (error: unknown): Failure =>
  new Failure(
    {
      kind: "unavailable",
      at: "connection",
      message: say`Nothing was sent, because the HTTP client cannot be started: ${raw(errorMessage(error))}.`,
      retryable: true,
      sideEffect: "none",
      next: say`${ask("Restart")} the server. If this error remains, mic-mcp must be installed again.`,
    },
    { cause: error },
  );

interface TransportOptions {
  /** Whether HTTPS_PROXY, HTTP_PROXY and NO_PROXY are used. */
  readonly proxies: boolean;
  /** Connections per origin (default 128). Streamed files have separate connections. */
  readonly connections?: number;
}

/** Creates a transport that keeps connections alive and does not pipeline requests. */
export function createTransport(
  { proxies, connections = CONNECTIONS }: TransportOptions = { proxies: true },
): Transport {
  /** The dispatchers of a kind of request, by origin. undici is loaded, and a dispatcher created, with the first request. */
  function createPool(maxConnections: number) {
    const byOrigin = new Map<string, Dispatcher>();
    const byProxy = new Map<string | undefined, Dispatcher>();
    return {
      get: (origin: string) => byOrigin.get(origin),
      /** Throws Failure: nothing was sent. */
      async start(origin: string): Promise<Dispatcher> {
        try {
          const uri = proxies ? proxyUrlFor(origin) : undefined;
          const { Agent, buildConnector, Pool, ProxyAgent } = await import("./undici.ts");
          const connectDirectly = buildConnector({});
          const options = {
            connections: maxConnections,
            pipelining: 1,
            factory(host: string | URL, { connect = connectDirectly, ...rest }: Pool.Options): Dispatcher {
              return new Pool(host, {
                ...rest,
                connect: typeof connect === "function" ? withResets(connect) : connect,
              });
            },
          };
          const dispatcher =
            byProxy.get(uri) ?? (uri === undefined ? new Agent(options) : new ProxyAgent({ ...options, uri }));
          byProxy.set(uri, dispatcher);
          byOrigin.set(origin, dispatcher);
          return dispatcher;
        } catch (error) {
          throw error instanceof Failure ? error : startFailure(error);
        }
      },
      async close() {
        for (const dispatcher of byProxy.values()) await dispatcher.destroy();
      },
    };
  }
  const calls = createPool(connections);
  /** Files have separate connections, so that no call waits for a file that is read slowly. */
  const files = createPool(STREAM_CONNECTIONS);
  const proxyFor: Transport["proxyFor"] = (url) => (proxies ? proxyVariableFor(url) : undefined);

  return {
    exchange(request, limits) {
      const exchange = (pool: Dispatcher) =>
        send(pool, request, { proxyFor, ...limits }, receiveBuffer(limits.maxBytes));
      const { origin } = request;
      const started = calls.get(origin);
      return started ? exchange(started) : calls.start(origin).then(exchange);
    },
    async openStream(request, limits) {
      const { origin } = request;
      return await send(
        files.get(origin) ?? (await files.start(origin)),
        request,
        { proxyFor, ...limits },
        receiveStream,
      );
    },
    proxyFor,
    async close() {
      for (const pool of [calls, files]) await pool.close();
    },
  };
}
