// Serves MCP over Streamable HTTP: protocol revisions 2024-11-05 to 2025-11-25 in sessions, and 2026-07-28 without.
import { createRedact } from "../messages/redact.ts";
import { createSubscriptions } from "../resources/subscriptions.ts";
import type { Runtime } from "../runtime.ts";
import { createServer } from "../server.ts";
import { createConfirmation } from "../tools/confirmation.ts";
import { type HttpServer, startHttpServer } from "./http-server.ts";
import type { HttpService } from "./port.ts";

const MINUTE_MS = 60_000;

/** What the clients of one runtime are served. */
export function httpServiceOf(runtime: Runtime): HttpService {
  const confirmation = createConfirmation(runtime);
  return {
    createServer: (connection, era) => createServer(runtime, { ...connection, confirmation, network: "tcp" }, era),
    createSubscriptions: () => createSubscriptions(runtime),
    readiness: async () => ({
      journal: {
        engine: runtime.config.journalUrl === undefined ? "SQLite" : "PostgreSQL",
        ...(await runtime.ports.actions.overview()),
      },
    }),
    redact: createRedact(runtime.redactor),
    log: runtime.log,
    telemetry: runtime.telemetry,
  };
}

/** `address`: one of this machine's loopback. Rejects when it cannot listen there. */
export async function serveOnHttp(runtime: Runtime, address: string, port: number): Promise<HttpServer> {
  const { httpMaxSessions, httpSessionIdleMinutes, httpToken } = runtime.config;
  return await startHttpServer(httpServiceOf(runtime), {
    address,
    port,
    token: httpToken,
    maxSessions: httpMaxSessions,
    sessionIdleMs: httpSessionIdleMinutes * MINUTE_MS,
  });
}
