// MCP over Streamable HTTP: listens, takes each exchange through the gate to its route and to its end, and ends gracefully.
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { reasonOf } from "../../failure.ts";
import { createAdmission } from "./admission.ts";
import { goneSignal, send } from "./exchange.ts";
import { createGate, type Gate } from "./gate.ts";
import { LISTENER_LIMITS, type ListenerLimits, listen } from "./listener.ts";
import { inUrl } from "./loopback.ts";
import { createModern } from "./modern.ts";
import { type HttpService, plain, type Served } from "./port.ts";
import { refusal } from "./refusal.ts";
import { ending, MCP_PATH, route } from "./routes.ts";
import { createSessions, type SessionLimits } from "./sessions.ts";

export interface HttpOptions extends SessionLimits {
  /** A loopback address: see loopbackAddress. */
  readonly address: string;
  /** 0: any that is free. */
  readonly port: number;
  /** The bearer token that requests must carry; without one, on Linux, they must be of this process's user. */
  readonly token?: string | undefined;
  readonly limits?: Partial<ListenerLimits>;
}

export interface HttpServer {
  readonly url: string;
  /**
   * From now on nothing new is served; streams end, and calls under way have `withinMs`, or until `now` fires. What is not
   * finished then is aborted. Resolves when all is closed and written down.
   */
  drain(withinMs: number, now: AbortSignal): Promise<void>;
}

const FAREWELL_MS = 250;

/** Besides a session's stream and a call in it, somebody may ask how it goes. */
const connectionsFor = (sessions: number): number => 2 * sessions + 56;

export async function serveHttp(service: HttpService, options: HttpOptions): Promise<HttpServer> {
  const { log, exit } = service;
  const limits = { ...LISTENER_LIMITS, maxConnections: connectionsFor(options.maxSessions), ...options.limits };
  const sessions = createSessions(service, options);
  const modern = createModern(service);
  const exchanges = new Set<Promise<void>>();
  const admission = createAdmission(options.token, log);
  /** What each connection brought its client last. */
  const lastOut = new WeakMap<Socket, () => Promise<void>>();
  let isEnding = false;
  let gate: Gate = () => "Not listening yet.";

  async function serve(incoming: IncomingMessage, signal: AbortSignal): Promise<Served> {
    const reason = gate(incoming);
    if (reason !== undefined) return plain(refusal(403, reason));
    const refused = admission(incoming);
    if (refused) return plain(refused);
    // Requests that are sent behind each other on one connection must not count less than those on several.
    if (exchanges.size >= limits.maxConnections) return plain(refusal(503, "Too many requests at once; call again."));
    const served = await route(incoming, signal, { sessions, modern, isEnding: () => isEnding });
    if (!isEnding || served.kind === "call") return served;
    await served.response.body?.cancel();
    await served.over(false);
    return plain(ending());
  }

  /** What went wrong inside is for the log. */
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
    // Whoever asks for more has read what came before.
    lastOut.delete(incoming.socket);
    const { response, over, unread } = await served(incoming, signal);
    // Who may not come in does not stay, either: there is not room for everybody.
    const isLast = () => isEnding || response.status === 401 || response.status === 403;
    const isWhole = await send(response, incoming, outgoing, { signal, exit, isLast, ...limits });
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

  /** Or the time is over, or `now` fires. */
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
      // Reset: the client has gone with something in it unread.
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
      // What was aborted is told so, if its client listens.
      await allOver(FAREWELL_MS);
      server.close();
      server.closeAllConnections();
      await Promise.all(exchanges);
    },
  };
}
