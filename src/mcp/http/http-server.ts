// The HTTP server of any HttpService: listens, takes each exchange through the gate and its route to its end, and drains.
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { reasonOf } from "../../failure.ts";
import { inUrl } from "../../loopback.ts";
import { createAdmission } from "./admission.ts";
import { goneSignal, send } from "./exchange.ts";
import { createGate, type Gate } from "./gate.ts";
import { LISTENER_LIMITS, type ListenerLimits, listen } from "./listener.ts";
import { createModern } from "./modern.ts";
import { type HttpService, plain, type Served } from "./port.ts";
import { refusal } from "./refusal.ts";
import { ending, MCP_PATH, route } from "./routes.ts";
import { createSessions, type SessionLimits } from "./sessions.ts";

export interface HttpOptions extends SessionLimits {
  /** A loopback address: see loopbackAddress. */
  readonly address: string;
  /** 0: any free one. */
  readonly port: number;
  /** The bearer token that requests must carry; without one, on Linux, they must be of this process's user. */
  readonly token?: string | undefined;
  readonly limits?: Partial<ListenerLimits>;
}

export interface HttpServer {
  readonly url: string;
  /**
   * Serves nothing new from now on. Streams end; calls under way have `withinMs`, or until `now` fires, and are aborted then.
   * Resolves when everything is closed and in the journal.
   */
  drain(withinMs: number, now: AbortSignal): Promise<void>;
}

const FAREWELL_MS = 250;

/** A stream and a call for each session, and some for requests without a session. */
const connectionsFor = (sessions: number): number => 2 * sessions + 56;

export async function startHttpServer(service: HttpService, options: HttpOptions): Promise<HttpServer> {
  const { log, redact, telemetry } = service;
  const limits = { ...LISTENER_LIMITS, maxConnections: connectionsFor(options.maxSessions), ...options.limits };
  const sessions = createSessions(service, options);
  const modern = createModern(service);
  const exchanges = new Set<Promise<void>>();
  const admission = createAdmission(options.token, log);
  /** For each connection, how to mark the last answer on it as unread. */
  const lastOut = new WeakMap<Socket, () => Promise<void>>();
  let openStreams = 0;
  const streamsUnobserved = telemetry?.gauge("mic.http.streams", () => openStreams);
  let isEnding = false;
  let gate: Gate = () => "Not listening yet.";

  async function serve(incoming: IncomingMessage, signal: AbortSignal): Promise<Served> {
    const reason = gate(incoming);
    if (reason !== undefined) return plain(refusal(403, reason));
    const refused = admission(incoming);
    if (refused) return plain(refused);
    // Pipelined requests on one connection count like those on several.
    if (exchanges.size >= limits.maxConnections) return plain(refusal(503, "Too many requests at once; call again."));
    const served = await route(incoming, signal, {
      sessions,
      modern,
      isEnding: () => isEnding,
      readiness: service.readiness,
    });
    if (!isEnding || served.kind === "call") return served;
    if (served.response instanceof Response) await served.response.body?.cancel();
    await served.over(false);
    return plain(ending());
  }

  /** The client learns nothing of a fault of our own: that goes to the log. */
  async function served(incoming: IncomingMessage, signal: AbortSignal): Promise<Served> {
    try {
      return await serve(incoming, signal);
    } catch (error) {
      log.error({ reason: reasonOf(error) }, "request failed");
      return plain(refusal(500, "Internal server error"));
    }
  }

  async function exchange(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const startedAt = performance.now();
    const signal = goneSignal(incoming, outgoing);
    // A client that asks for more has read what came before.
    lastOut.delete(incoming.socket);
    const serving = () => served(incoming, signal);
    const { response, kind, over, unread } = await (telemetry?.arrived(incoming.headers, serving) ?? serving());
    if (kind === "stream") openStreams += 1;
    // A client that may not come in must not hold a connection: their number is limited.
    const isLast = () => isEnding || response.status === 401 || response.status === 403;
    const isWhole = await send(response, incoming, outgoing, { signal, redact, isLast, ...limits });
    if (kind === "stream") openStreams -= 1;
    await over(isWhole);
    if (isWhole && unread) lastOut.set(incoming.socket, unread);
    const path = incoming.url?.split("?")[0] === MCP_PATH ? MCP_PATH : "other";
    const ms = Math.round(performance.now() - startedAt);
    const { status } = response;
    log[status === 500 ? "error" : "debug"]({ method: incoming.method, path, status, isWhole, ms }, "request");
  }

  function onRequest(incoming: IncomingMessage, outgoing: ServerResponse): void {
    const over = exchange(incoming, outgoing)
      .catch((error: unknown) => log.error({ reason: reasonOf(error) }, "exchange"))
      .finally(() => exchanges.delete(over));
    exchanges.add(over);
  }

  /** Resolves when all exchanges are over, the time is, or `now` fires. */
  async function allOver(withinMs: number, now?: AbortSignal): Promise<void> {
    const waiting = new AbortController();
    const signal = AbortSignal.any(now ? [now, waiting.signal] : [waiting.signal]);
    await Promise.race([Promise.all(exchanges), sleep(withinMs, undefined, { signal }).catch(() => undefined)]);
    waiting.abort();
  }

  const { server, port } = await listen(options.address, options.port, limits, onRequest, log);
  gate = createGate(options.address, port);
  server.on("connection", (socket) =>
    socket.once("close", (hadError) => {
      // A reset: the client has gone with something in it unread.
      if (hadError)
        lastOut
          .get(socket)?.()
          .catch((error: unknown) => log.warn({ reason: reasonOf(error) }, "unread"));
    }),
  );

  return {
    url: `http://${inUrl(options.address)}:${port}${MCP_PATH}`,
    async drain(withinMs, now) {
      isEnding = true;
      sessions.endStreams();
      await modern.endStreams();
      await allOver(withinMs, now);
      await Promise.all([sessions.close(), modern.close()]);
      // Aborted calls still get their answers, if their clients listen.
      await allOver(FAREWELL_MS);
      server.close();
      server.closeAllConnections();
      await Promise.all(exchanges);
      streamsUnobserved?.();
    },
  };
}
