// MCP over Streamable HTTP, for protocol revisions 2024-11-05 to 2025-11-25 in sessions and 2026-07-28 without.

import { createExit } from "../messages/redact.ts";
import { createSubscriptions } from "../resources/subscriptions.ts";
import type { Runtime } from "../runtime.ts";
import { createServer } from "../server.ts";
import { createConfirmation } from "../tools/confirmation.ts";
import { type HttpServer, serveHttp } from "./http-server.ts";

const MINUTE_MS = 60_000;

/** `address`: of this machine's loopback. Rejects when there is nothing to listen on. */
export async function serveOnHttp(runtime: Runtime, address: string, port: number): Promise<HttpServer> {
  const { httpMaxSessions, httpSessionIdleMinutes, httpToken } = runtime.config;
  const confirmation = createConfirmation(runtime);
  return await serveHttp(
    {
      createServer: (connection, era) => createServer(runtime, { ...connection, confirmation }, era),
      createSubscriptions: () => createSubscriptions(runtime),
      exit: createExit(runtime.redactor),
      log: runtime.log,
    },
    {
      address,
      port,
      token: httpToken,
      maxSessions: httpMaxSessions,
      sessionIdleMs: httpSessionIdleMinutes * MINUTE_MS,
    },
  );
}
