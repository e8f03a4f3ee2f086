// Runs the HTTP server behind any front end: it enforces limits, serves each exchange to its end, and drains at shutdown. The limits
// protect against too many clients, and against clients that send slowly, too much or nothing.
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { errorMessage } from "../../core/failure.ts";
import { toUrlHost } from "../../core/loopback.ts";
import type { Log } from "../../mcp/runtime.ts";
import { Exchange, type ExchangeOptions } from "./exchange.ts";
import type { HttpService } from "./port.ts";
import { errorResponse, MCP_PATH, type Phase, RequestRefused } from "./responses.ts";

export interface ListenerLimits {
  readonly maxConnections: number;
  readonly maxHeaderBytes: number;
  readonly headersTimeoutMs: number;
  /** Time to receive a whole request. A response has no time limit. */
  readonly requestTimeoutMs: number;
  readonly keepAliveTimeoutMs: number;
  /** A client that reads nothing of its response for this long is disconnected. Streams send data several times as often. */
  readonly stalledTimeoutMs: number;
}

export const LISTENER_LIMITS: Omit<ListenerLimits, "maxConnections"> = {
  maxHeaderBytes: 16 * 1024,
  headersTimeoutMs: 10_000,
  requestTimeoutMs: 30_000,
  // Clients that call again within a minute need no new connection, and their request does not race against its close.
  keepAliveTimeoutMs: 75_000,
  stalledTimeoutMs: 60_000,
};

const MAX_HEADERS = 100;

/** Time for aborted calls to send their responses to clients that are still connected. */
const ABORT_GRACE_MS = 250;

/** Checks access to the server and serves the requests that are allowed. */
export interface HttpFrontEnd
  extends Pick<HttpService, "redact" | "log" | "telemetry">,
    Partial<Pick<ExchangeOptions, "headers" | "closesConnection">> {
  /** Resolves with undefined after the response was sent, or with a response that the caller sends. May throw RequestRefused. */
  serve(exchange: Exchange): Promise<Response | undefined>;
  /** Closes what outlives an exchange. */
  close?(): Promise<void>;
}

export interface ListenOptions {
  readonly address: string;
  /** 0 selects any free port. */
  readonly port: number;
}

export interface HttpServer {
  readonly url: string;
  /**
   * Shuts the server down. For `delayMs` (default 0), or until `abortNow` fires, requests are still served, but the server reports to
   * load balancers that it is not ready. Then new requests are refused, streams end, and calls in flight have `withinMs`, or until
   * `abortNow` fires, before they are aborted. Resolves when everything is closed and recorded in the journal.
   */
  drain(withinMs: number, abortNow: AbortSignal, delayMs?: number): Promise<void>;
}

/** The routes of a metric, by pattern of the path: a path can contain a team or a ticket. */
const ROUTES: readonly (readonly [path: RegExp, route: string])[] = [
  [/^\/mcp$/, MCP_PATH],
  [/^\/mcp\//, `${MCP_PATH}/{team}`],
  [/^\/downloads\//, "/downloads/{ticket}"],
  [/^\/\.well-known\//, "/.well-known"],
  [/^\/healthz$/, "/healthz"],
  [/^\/readyz$/, "/readyz"],
];

const LISTEN_ERRORS: Readonly<Record<string, string>> = {
  EADDRINUSE: "the port is in use; choose another --port, or 0 for any free port",
  EACCES: "permission denied; choose a --port above 1023, or 0 for any free port",
  EADDRNOTAVAIL: "this machine does not have this address",
};

/** Closes the connection that has been without a complete request for longest, so that clients that send nothing block no others. */
function limitConnections(server: Server, maxConnections: number, log: Log): void {
  const requestsOf = new Map<Socket, number>();
  const idle = new Set<Socket>();
  const forget = (socket: Socket): void => {
    requestsOf.delete(socket);
    idle.delete(socket);
  };
  server.on("connection", (socket) => {
    requestsOf.set(socket, 0);
    idle.add(socket);
    socket.once("close", () => forget(socket));
    if (requestsOf.size <= maxConnections) return;
    const [longestIdle = socket] = idle;
    forget(longestIdle);
    longestIdle.destroy();
    log.info({ maxConnections }, "connection closed: too many connections");
  });
  server.on("request", ({ socket }, response) => {
    const count = (change: number): void => {
      const requests = requestsOf.get(socket);
      if (requests === undefined) return;
      requestsOf.set(socket, requests + change);
      if (requests + change === 0) idle.add(socket);
      else idle.delete(socket);
    };
    count(1);
    response.once("close", () => count(-1));
  });
}

async function listen(server: Server, { address, port }: ListenOptions, log: Log): Promise<number> {
  await new Promise<void>((resolve, reject) => {
    server.once("error", ({ code = "", message }: NodeJS.ErrnoException) =>
      reject(new Error(`Cannot listen on ${address} port ${port}: ${LISTEN_ERRORS[code] ?? message}.`)),
    );
    server.listen(port, address, resolve);
  });
  // A connection that could not be accepted must not end the server.
  server
    .removeAllListeners("error")
    .on("error", (error) => log.warn({ reason: errorMessage(error) }, "accepting a connection failed"));
  const bound = server.address();
  if (typeof bound !== "object" || bound === null)
    throw new Error(`The server is not listening on ${address} port ${port}.`);
  return bound.port;
}

/** Starts the HTTP server. Rejects with the reason if it cannot listen. */
export async function startServer(
  frontEnd: HttpFrontEnd,
  { limits, ...listenOptions }: ListenOptions & { readonly limits: ListenerLimits },
): Promise<HttpServer> {
  const { log, telemetry } = frontEnd;
  const exchanges = new Map<Exchange, Promise<void>>();
  let phase: Phase = "serving";
  const options: ExchangeOptions = {
    headers: (request, isStream) => frontEnd.headers?.(request, isStream),
    closesConnection: (status) => phase !== "serving" || frontEnd.closesConnection?.(status) === true,
    phase: () => phase,
    // Pipelined requests on one connection count like requests on several connections.
    isOverloaded: () => exchanges.size > limits.maxConnections,
    stalledTimeoutMs: limits.stalledTimeoutMs,
    redact: frontEnd.redact,
  };

  async function serve(exchange: Exchange): Promise<void> {
    const { request } = exchange;
    const startedAt = performance.now();
    try {
      const serveExchange = () => frontEnd.serve(exchange);
      const response = await (telemetry?.runHttpRequest(request.headers, serveExchange) ?? serveExchange());
      if (response) await exchange.respond(response);
    } catch (error) {
      const isRefusal = error instanceof RequestRefused;
      // An internal error is logged; the client gets no details.
      if (!isRefusal) log.error({ reason: errorMessage(error) }, "request failed");
      await exchange.respond(isRefusal ? error.response : errorResponse(500, "Internal server error"));
    }
    const isComplete = await exchange.finished;
    const route = ROUTES.find(([path]) => path.test(exchange.path))?.[1];
    const path = route?.startsWith(MCP_PATH) ? MCP_PATH : "other";
    const ms = Math.round(performance.now() - startedAt);
    const { status } = exchange;
    telemetry?.measureHttpRequest({ method: request.method, route, status }, ms / 1_000);
    log[status === 500 ? "error" : "debug"]({ method: request.method, path, status, isComplete, ms }, "request");
  }

  function onRequest(request: IncomingMessage, response: ServerResponse): void {
    const exchange = new Exchange(request, response, options);
    // Added before the exchange is served, because isOverloaded counts it.
    exchanges.set(exchange, Promise.resolve());
    const finished = serve(exchange)
      .catch((error: unknown) => log.error({ reason: errorMessage(error) }, "exchange"))
      .finally(() => exchanges.delete(exchange));
    exchanges.set(exchange, finished);
  }

  /** Resolves when all exchanges have ended, after `withinMs`, or when `abortNow` fires. */
  async function waitForExchanges(withinMs: number, abortNow?: AbortSignal): Promise<void> {
    const timeout = new AbortController();
    const signal = AbortSignal.any(abortNow ? [abortNow, timeout.signal] : [timeout.signal]);
    await Promise.race([
      Promise.all(exchanges.values()),
      sleep(withinMs, undefined, { signal }).catch(() => undefined),
    ]);
    timeout.abort();
  }

  const server = createServer(
    {
      maxHeaderSize: limits.maxHeaderBytes,
      headersTimeout: limits.headersTimeoutMs,
      requestTimeout: limits.requestTimeoutMs,
      connectionsCheckingInterval: Math.min(limits.headersTimeoutMs, limits.requestTimeoutMs) / 4,
      keepAliveTimeout: limits.keepAliveTimeoutMs,
    },
    onRequest,
  );
  limitConnections(server, limits.maxConnections, log);
  server.maxHeadersCount = MAX_HEADERS;
  // Each exchange adds a `close` listener to its connection, and a client may pipeline many requests.
  server.on("connection", (socket) => socket.setMaxListeners(0));
  const port = await listen(server, listenOptions, log);
  const findStreams = () => [...exchanges.keys()].filter(({ endStream }) => endStream !== undefined);
  const unregisterStreamsGauge = telemetry?.registerGauge("mic.http.streams", () => findStreams().length);

  return {
    url: `http://${toUrlHost(listenOptions.address)}:${port}${MCP_PATH}`,
    async drain(withinMs, abortNow, delayMs = 0) {
      phase = "draining";
      if (delayMs > 0) await sleep(delayMs, undefined, { signal: abortNow }).catch(() => undefined);
      phase = "shutting_down";
      await Promise.all(findStreams().map((exchange) => exchange.endStream?.()));
      await waitForExchanges(withinMs, abortNow);
      await Promise.all([...exchanges.keys()].map((exchange) => exchange.abortCalls?.()));
      await frontEnd.close?.();
      await waitForExchanges(ABORT_GRACE_MS);
      server.close();
      server.closeAllConnections();
      await Promise.all(exchanges.values());
      unregisterStreamsGauge?.();
    },
  };
}
