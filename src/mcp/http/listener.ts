// The listening socket and its limits, against too many clients and against those that send slowly, too much or nothing.
import { createServer, type RequestListener, type Server } from "node:http";
import type { Socket } from "node:net";
import { reasonOf } from "../../failure.ts";
import type { Log } from "../runtime.ts";

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

export interface Listener {
  readonly server: Server;
  readonly port: number;
}

const REASONS: Readonly<Record<string, string>> = {
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

/** Rejects when there is nothing to listen on, saying why. */
export async function listen(
  address: string,
  port: number,
  limits: ListenerLimits,
  onRequest: RequestListener,
  log: Log,
): Promise<Listener> {
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
  await new Promise<void>((resolve, reject) => {
    server.once("error", ({ code = "", message }: NodeJS.ErrnoException) =>
      reject(new Error(`Cannot listen on ${address} port ${port}: ${REASONS[code] ?? message}.`)),
    );
    server.listen(port, address, resolve);
  });
  // A connection that could not be accepted must not end the server.
  server
    .removeAllListeners("error")
    .on("error", (error) => log.warn({ reason: reasonOf(error) }, "connection not taken"));
  const bound = server.address();
  if (typeof bound !== "object" || bound === null) throw new Error(`Nothing listens on ${address} port ${port}.`);
  return { server, port: bound.port };
}
