// Serves MCP over Streamable HTTP: revisions 2024-11-05 to 2025-11-25 in sessions, and 2026-07-28 without sessions.
import { createDirectCalls } from "../../mcp/direct-calls.ts";
import { createRedact } from "../../mcp/messages.ts";
import { createSubscriptions } from "../../mcp/resources/subscriptions.ts";
import type { Runtime } from "../../mcp/runtime.ts";
import { createServer } from "../../mcp/server.ts";
import { createConfirmation } from "../../mcp/tools/confirmation.ts";
import { checkHost, createTokenCheck, localOriginOf, tokenHint } from "./access.ts";
import { answerPreflight, corsHeaders } from "./cors.ts";
import { createEndpoint } from "./endpoint.ts";
import {
  type HttpFrontEnd,
  type HttpServer,
  LISTENER_LIMITS,
  type ListenerLimits,
  type ListenOptions,
  startServer,
} from "./listener.ts";
import type { HttpService } from "./port.ts";
import {
  HEALTH_PATH,
  healthResponse,
  MCP_PATH,
  noSuchPath,
  READY_PATH,
  readinessResponse,
  tooManyRequests,
} from "./responses.ts";
import { createSessions, type SessionLimits } from "./sessions.ts";
import type { HttpToken } from "./token.ts";

const MINUTE_MS = 60_000;

export function createHttpService(runtime: Runtime): HttpService {
  const shared = { confirmation: createConfirmation(runtime), network: "tcp" } as const;
  return {
    createServer: (connection, protocolEra) => createServer(runtime, { ...connection, ...shared }, protocolEra),
    findDirectCall: createDirectCalls(runtime, shared),
    createSubscriptions: () => createSubscriptions(runtime),
    readiness: async () => ({
      journal: {
        engine: runtime.config.journalUrl === undefined ? "SQLite" : "PostgreSQL",
        ...(await runtime.ports.actions.countUnresolved()),
      },
    }),
    redact: createRedact(runtime.redactor),
    log: runtime.log,
    telemetry: runtime.telemetry,
  };
}

/** `address` must be a loopback address, see loopbackAddress. */
export interface HttpOptions extends ListenOptions, SessionLimits {
  /** The bearer token that requests must carry. Undefined: every user of this machine has access. */
  readonly access: HttpToken | undefined;
  readonly limits?: Partial<ListenerLimits>;
}

export function startHttpServer(service: HttpService, options: HttpOptions): Promise<HttpServer> {
  const { log, redact, readiness, telemetry } = service;
  const sessions = createSessions(service, options);
  const serveMcp = createEndpoint(service, sessions.serve);
  const { access } = options;
  const checkToken = access && createTokenCheck(access);
  const paths = [MCP_PATH, HEALTH_PATH, READY_PATH];
  const frontEnd = {
    log,
    redact,
    telemetry,
    async serve(exchange) {
      const { request, path, phase } = exchange;
      checkHost(request);
      answerPreflight(request);
      // A 404 needs no token: clients that look for OAuth endpoints must find none.
      if (!paths.includes(path)) return noSuchPath(access && tokenHint(access));
      checkToken?.(request);
      if (exchange.isOverloaded()) return tooManyRequests();
      if (path === HEALTH_PATH) return healthResponse(request.method, phase() === "shutting_down");
      if (path === READY_PATH) return await readinessResponse(request.method, phase(), readiness);
      return await serveMcp(exchange);
    },
    headers: (request) => corsHeaders(localOriginOf(request)),
    // A refused client must not keep its connection, because the number of connections is limited.
    closesConnection: (status) => status === 401 || status === 403,
    close: sessions.close,
  } satisfies HttpFrontEnd;
  // One stream and one call for each session, and 56 connections for requests without a session.
  const maxConnections = 2 * options.maxSessions + 56;
  return startServer(frontEnd, { ...options, limits: { ...LISTENER_LIMITS, maxConnections, ...options.limits } });
}

/** Serves a runtime over HTTP. `address` must be a loopback address. Rejects with the reason if it cannot listen there. */
export const serveOnHttp = (runtime: Runtime, options: Omit<HttpOptions, keyof SessionLimits>): Promise<HttpServer> =>
  startHttpServer(createHttpService(runtime), { ...options, maxSessions: 100, sessionIdleMs: 30 * MINUTE_MS });
