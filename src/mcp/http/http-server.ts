// The HTTP server behind any door: listens, takes each exchange through the door to its end, and drains.
import type { IncomingMessage, ServerResponse } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { reasonOf } from "../../failure.ts";
import { inUrl } from "../../loopback.ts";
import type { Redact } from "../messages/redact.ts";
import type { Log } from "../runtime.ts";
import type { Door, Phase } from "./door.ts";
import { goneSignal, type SendOptions, send } from "./exchange.ts";
import { LISTENER_LIMITS, type ListenerLimits, listen } from "./listener.ts";
import { createLoopbackDoor, type LoopbackOptions } from "./loopback-door.ts";
import { type HttpService, plain, type Served } from "./port.ts";
import { ending, refusal } from "./refusal.ts";
import { MCP_PATH, pathOf } from "./routes.ts";

export interface ListenOptions {
  readonly address: string;
  /** 0: any free one. */
  readonly port: number;
}

/** `address`: a loopback one, see loopbackAddress. */
export interface HttpOptions extends ListenOptions, LoopbackOptions {
  readonly limits?: Partial<ListenerLimits>;
}

export interface HttpServer {
  readonly url: string;
  /**
   * For `delayMs` (0 by default), or until `now` fires, all is served as before, only not ready any more: who sends requests
   * here learns of it. Then nothing new is served. Streams end; calls under way have `withinMs`, or until `now` fires, and are
   * aborted then. Resolves when everything is closed and in the journal.
   */
  drain(withinMs: number, now: AbortSignal, delayMs?: number): Promise<void>;
}

const FAREWELL_MS = 250;

const asItIs: Redact = (json) => json;

/** A stream and a call for each session, and some for requests without a session. */
const connectionsFor = (sessions: number): number => 2 * sessions + 56;

/** Serves one HttpService to this machine. */
export function startHttpServer(service: HttpService, options: HttpOptions): Promise<HttpServer> {
  const { address, maxSessions, limits } = options;
  return startServer(service.log, (port) => createLoopbackDoor(service, { address, port, options }), {
    ...options,
    limits: { ...LISTENER_LIMITS, maxConnections: connectionsFor(maxSessions), ...limits },
  });
}

/** `doorAt`: makes the door once it is known which port is listened on. */
export async function startServer(
  log: Log,
  doorAt: (port: number) => Door,
  { address, port: asked, limits }: ListenOptions & { readonly limits: ListenerLimits },
): Promise<HttpServer> {
  const exchanges = new Set<Promise<void>>();
  let openStreams = 0;
  let phase: Phase = "serving";
  let door: Door | undefined;
  // Pipelined requests on one connection count like those on several.
  const isFull = () => exchanges.size >= limits.maxConnections;

  async function serve(incoming: IncomingMessage, signal: AbortSignal): Promise<Served> {
    if (!door) return plain(refusal(503, "Not listening yet."));
    const served = await door.answer(incoming, { signal, phase: () => phase, isFull });
    if (phase !== "ending" || served.kind === "call") return served;
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
    const serving = () => served(incoming, signal);
    const arrived = door?.telemetry?.arrived(incoming.headers, serving) ?? serving();
    const { response, kind, over, redact = door?.redact ?? asItIs } = await arrived;
    if (kind === "stream") openStreams += 1;
    const isLast = () => phase !== "serving" || door?.isLast(response.status) === true;
    const headers: SendOptions["headers"] = (of) => door?.headers?.(incoming, of);
    const isWhole = await send(response, incoming, outgoing, { signal, redact, isLast, headers, ...limits });
    if (kind === "stream") openStreams -= 1;
    await over(isWhole);
    const asked = pathOf(incoming);
    const path = asked === MCP_PATH || asked.startsWith(`${MCP_PATH}/`) ? MCP_PATH : "other";
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

  const { server, port } = await listen(address, asked, limits, onRequest, log);
  const opened = doorAt(port);
  door = opened;
  const streamsUnobserved = opened.telemetry?.gauge("mic.http.streams", () => openStreams);

  return {
    url: `http://${inUrl(address)}:${port}${MCP_PATH}`,
    async drain(withinMs, now, delayMs = 0) {
      phase = "leaving";
      if (delayMs > 0) await sleep(delayMs, undefined, { signal: now }).catch(() => undefined);
      phase = "ending";
      await opened.endStreams();
      await allOver(withinMs, now);
      await opened.close();
      // Aborted calls still get their answers, if their clients listen.
      await allOver(FAREWELL_MS);
      server.close();
      server.closeAllConnections();
      await Promise.all(exchanges);
      streamsUnobserved?.();
    },
  };
}
