// Serves MCP on stdin and stdout, for protocol revisions 2024-11-05 to 2025-11-25 and 2026-07-28.
import type { Readable, Writable } from "node:stream";
import type { McpRequestContext, ProtocolEra } from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import { errorMessage } from "../../core/failure.ts";
import { withLegacyCode } from "../../mcp/messages/json-rpc.ts";
import { createRedact } from "../../mcp/messages/redact.ts";
import { createSubscriptions } from "../../mcp/resources/subscriptions.ts";
import type { Runtime } from "../../mcp/runtime.ts";
import { createServer } from "../../mcp/server.ts";
import { createConfirmation } from "../../mcp/tools/confirmation.ts";
import { createListenFilter } from "./listen-filter.ts";
import { type MessageFilter, StdioTransport } from "./transport.ts";

export interface Stdio {
  readonly stdin: Readable;
  readonly stdout: Writable;
}

/** Serves until stdin ends. Returns a function that ends the connection earlier. */
export function serveOnStdio(runtime: Runtime, { stdin, stdout }: Stdio): () => Promise<void> {
  const subscriptions = createSubscriptions(runtime);
  /** Undefined until the client has sent its first message. */
  let protocolEra: ProtocolEra | undefined;
  const listenFilter = createListenFilter(subscriptions);
  const filter: MessageFilter = {
    inbound: listenFilter.inbound,
    outbound: (message) => listenFilter.outbound(protocolEra === "legacy" ? withLegacyCode(message) : message),
  };
  const confirmation = createConfirmation(runtime);
  const connection = { subscriptions, confirmation, network: "pipe" as const, isFirst: true };
  const endTelemetrySession = runtime.telemetry?.startSession("pipe");
  const transport = new StdioTransport(stdin, stdout, createRedact(runtime.redactor), filter);
  const createConnectionServer = (context: McpRequestContext) => {
    protocolEra = context.era;
    return createServer(runtime, connection, protocolEra);
  };
  const handle = serveStdio(createConnectionServer, {
    transport,
    onerror: (error) => runtime.log.warn({ reason: errorMessage(error) }, "protocol"),
  });
  return async () => {
    subscriptions.close();
    await handle.close();
    endTelemetrySession?.();
  };
}
