// The HTTP server behind any front end: listens within limits, takes each exchange to its end, and drains. The limits are against
// too many clients and against those that send slowly, too much or nothing.
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { errorMessage } from "../../core/failure.ts";
import { toUrlHost } from "../../core/loopback.ts";
import type { Redact } from "../../mcp/messages/redact.ts";
import type { Log } from "../../mcp/runtime.ts";
import type { Telemetry } from "../../telemetry/port.ts";
import { Exchange, type ExchangeOptions } from "./exchange.ts";
import { errorResponse, MCP_PATH, type Phase } from "./responses.ts";

export interface ListenerLimits {
  readonly maxConnections: number;
  readonly maxHeaderBytes: number;
  /** How long a request's headers may take, and the whole request. Answers may take any time. */
  readonly headersTimeoutMs: number;
  readonly requestTimeoutMs: number;
  readonly keepAliveTimeoutMs: number;
  /** A client that takes nothing of its answer for so long is cut off; streams send something several times as often. */
  readonly stalledTimeoutMs: number;
}

export const LISTENER_LIMITS: Omit<ListenerLimits, "maxConnections"> = {
  maxHeaderBytes: 16 * 1024,
  headersTimeoutMs: 10_000,
  requestTimeoutMs: 30_000,
  // Clients that call again within a minute need no new connection, nor lose a race against its end.
  keepAliveTimeoutMs: 75_000,
  stalledTimeoutMs: 60_000,
};

const MAX_HEADERS = 100;

/** Aborted calls still get their answers, if their clients listen. */
const ABORT_GRACE_MS = 250;

/** Decides who is served, and serves them. */
export interface HttpFrontEnd {
  /** Resolves when it has sent the response, or with one to send. */
  serve(exchange: Exchange): Promise<Response | undefined>;
  /** On every response; the response's own headers come first. */
  headers?: ExchangeOptions["headers"];
  /** Whether a response of this status is the last on its connection. */
  closesConnection?: ExchangeOptions["closesConnection"];
  /** Ends the streams on which clients only listen. */
  endStreams(): Promise<void>;
  /** Aborts calls in flight. */
  close(): Promise<void>;
  /** Takes secrets out of what has no redaction of its own. */
  readonly redact: Redact;
  readonly log: Log;
  /** Absent: not configured. */
  readonly telemetry?: Telemetry | undefined;
}

export interface ListenOptions {
  readonly address: string;
  /** 0: any free one. */
  readonly port: number;
}

export interface HttpServer {
  readonly url: string;
  /**
   * For `delayMs` (default 0), or until `now` fires, all is served as before, but reported as not ready, so that balancers notice.
   * Then nothing new is served. Streams end; calls in flight have `withinMs`, or until `now` fires, and are aborted then. Resolves
   * when everything is closed and in the journal.
   */
  drain(withinMs: number, abortNow: AbortSignal, delayMs?: number): Promise<void>;
}

const LISTEN_ERRORS: Readonly<Record<string, string>> = {
  EADDRINUSE: "another program listens there; choose another --port, or 0 for any",
  EACCES: "that is not allowed; choose a --port above 1023, or 0 for any",
  EADDRNOTAVAIL: "this machine has no such address",
};

/**
 * Closes a connection whenever there are too many: the one that has been longest without a complete request, so that clients
 * that send nothing, or half a request, block no other client. If all have a request in progress, it closes the new one.
 */
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
    log.info({ maxConnections }, "connection closed: all are in use");
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

/** Rejects when it cannot listen, with the reason. */
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
    .on("error", (error) => log.warn({ reason: errorMessage(error) }, "connection not taken"));
  const bound = server.address();
  if (typeof bound !== "object" || bound === null) throw new Error(`Nothing listens on ${address} port ${port}.`);
  return bound.port;
}

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
    // Pipelined requests on one connection count like those on several.
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
      // The client learns nothing of an error of our own: that goes to the log.
      log.error({ reason: errorMessage(error) }, "request failed");
      await exchange.respond(errorResponse(500, "Internal server error"));
    }
    const isWhole = await exchange.finished;
    const path = exchange.path === MCP_PATH || exchange.path.startsWith(`${MCP_PATH}/`) ? MCP_PATH : "other";
    const ms = Math.round(performance.now() - startedAt);
    const { status } = exchange;
    log[status === 500 ? "error" : "debug"]({ method: request.method, path, status, isWhole, ms }, "request");
  }

  function onRequest(request: IncomingMessage, response: ServerResponse): void {
    const exchange = new Exchange(request, response, options);
    // Before it is served: it counts.
    exchanges.set(exchange, Promise.resolve());
    const finished = serve(exchange)
      .catch((error: unknown) => log.error({ reason: errorMessage(error) }, "exchange"))
      .finally(() => exchanges.delete(exchange));
    exchanges.set(exchange, finished);
  }

  /** Resolves when all exchanges are over, the time is, or `now` fires. */
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
  // Each exchange listens for the end of its connection, and a client may send many requests behind each other.
  server.on("connection", (socket) => socket.setMaxListeners(0));
  const port = await listen(server, listenOptions, log);
  const countStreams = () => [...exchanges.keys()].filter(({ isStream }) => isStream).length;
  const unregisterStreamsGauge = telemetry?.registerGauge("mic.http.streams", countStreams);

  return {
    url: `http://${toUrlHost(listenOptions.address)}:${port}${MCP_PATH}`,
    async drain(withinMs, abortNow, delayMs = 0) {
      phase = "leaving";
      if (delayMs > 0) await sleep(delayMs, undefined, { signal: abortNow }).catch(() => undefined);
      phase = "ending";
      await frontEnd.endStreams();
      await waitForExchanges(withinMs, abortNow);
      await frontEnd.close();
      await waitForExchanges(ABORT_GRACE_MS);
      server.close();
      server.closeAllConnections();
      await Promise.all(exchanges.values());
      unregisterStreamsGauge?.();
    },
  };
}
