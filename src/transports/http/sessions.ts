// Manages the sessions of protocol revisions before 2026-07-28. A session lasts until its client ends it, it has been idle for too
// long, or a new session needs its slot.
import type { JSONRPCMessage } from "@modelcontextprotocol/server";
import { errorMessage } from "../../core/failure.ts";
import type { Subscriptions } from "../../mcp/resources/subscriptions.ts";
import type { Exchange } from "./exchange.ts";
import { checkLegacyRequest, isInitialize, LegacyTransport } from "./legacy-transport.ts";
import type { HttpService } from "./port.ts";
import { refuse } from "./responses.ts";

const SESSION_NOT_FOUND = -32001;

export interface SessionLimits {
  readonly maxSessions: number;
  readonly sessionIdleMs: number;
}

interface Session {
  readonly transport: LegacyTransport;
  readonly subscriptions: Subscriptions;
  /** Reports the end of the session to telemetry; undefined if telemetry is off. */
  readonly endTelemetrySession: (() => void) | undefined;
  /** Exchanges in flight, including streams. */
  exchangesInFlight: number;
  idle?: NodeJS.Timeout;
}

export function createSessions(service: HttpService, { maxSessions, sessionIdleMs }: SessionLimits) {
  const sessions = new Map<string, Session>();

  async function endSession(id: string): Promise<void> {
    const session = sessions.get(id);
    if (!session) return;
    sessions.delete(id);
    clearTimeout(session.idle);
    session.subscriptions.close();
    await session.transport.close();
    session.endTelemetrySession?.();
  }

  /** Ends a session without waiting for it; logs an error. */
  function endInBackground(id: string): void {
    endSession(id).catch((error: unknown) =>
      service.log.warn({ reason: errorMessage(error) }, "ending a session failed"),
    );
  }

  /** Clients often disconnect without ending their session, so the one idle longest ends; a connected client gets a 404 and initializes. */
  function ensureCapacity(): boolean {
    if (sessions.size < maxSessions) return true;
    const longestIdle = [...sessions].find(([, { exchangesInFlight }]) => exchangesInFlight === 0);
    if (!longestIdle) return false;
    service.log.info({ maxSessions }, "ended the longest idle session to free a slot for a new one");
    endInBackground(longestIdle[0]);
    return true;
  }

  async function serveInSession<T>(id: string, session: Session, serve: () => Promise<T>): Promise<T> {
    clearTimeout(session.idle);
    session.exchangesInFlight += 1;
    try {
      return await serve();
    } finally {
      session.exchangesInFlight -= 1;
      // A session that has ended is no longer in the map.
      if (session.exchangesInFlight === 0 && sessions.delete(id)) {
        sessions.set(id, session);
        session.idle = setTimeout(() => {
          service.log.info({ sessionIdleMs }, "ended an idle session");
          endInBackground(id);
        }, sessionIdleMs).unref();
      }
    }
  }

  async function startSession(exchange: Exchange, messages: readonly JSONRPCMessage[]): Promise<Response | undefined> {
    if (!ensureCapacity()) {
      const reason = `All ${maxSessions} sessions are in use. Try again after a client disconnects.`;
      throw refuse(503, reason, { message: messages[0], headers: { "retry-after": "10" } });
    }
    const id = crypto.randomUUID();
    const transport = new LegacyTransport(id);
    transport.onerror = (error) => service.log.debug({ reason: errorMessage(error) }, "protocol");
    const subscriptions = service.createSubscriptions();
    const session = {
      transport,
      subscriptions,
      endTelemetrySession: service.telemetry?.startSession("tcp"),
      exchangesInFlight: 0,
    };
    sessions.set(id, session);
    return await serveInSession(id, session, async () => {
      let isDelivered = false;
      try {
        const server = await service.createServer({ subscriptions, isFirst: true }, "legacy");
        await server.connect(transport);
        await transport.post(exchange, messages);
        isDelivered = await exchange.finished;
        return undefined;
      } finally {
        // A client that did not receive the session id cannot use the session.
        if (!isDelivered) await endSession(id);
      }
    });
  }

  return {
    async serve(exchange: Exchange, messages: readonly JSONRPCMessage[]): Promise<Response | undefined> {
      const { method, headers } = exchange.request;
      checkLegacyRequest(exchange, messages);
      const { "mcp-session-id": id = "" } = headers;
      const [message] = messages;
      if (id === "") {
        if (messages.some(isInitialize)) return await startSession(exchange, messages);
        throw refuse(400, "The Mcp-Session-Id header is required. Send initialize to start a session.", { message });
      }
      const session = sessions.get(String(id));
      if (!session) {
        const reason =
          "Session not found; it may have ended. Start a new session: send initialize without the Mcp-Session-Id header.";
        throw refuse(404, reason, { code: SESSION_NOT_FOUND, message });
      }
      if (messages.some(isInitialize)) throw refuse(400, "Invalid Request: Server already initialized", { message });
      if (method !== "DELETE")
        return await serveInSession(String(id), session, () =>
          method === "GET" ? session.transport.listen(exchange) : session.transport.post(exchange, messages),
        );
      await endSession(String(id));
      return new Response(null);
    },

    /** Ends all sessions, which aborts their calls. */
    async close(): Promise<void> {
      await Promise.all([...sessions.keys()].map(endSession));
    },
  };
}
