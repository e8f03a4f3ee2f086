// MCP on stdin and stdout, for protocol revisions 2024-11-05 to 2025-11-25 and 2026-07-28.
import type { Readable, Writable } from "node:stream";
import type { JSONRPCMessage } from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import { reasonOf } from "../failure.ts";
import { createConfirmation } from "./confirmation.ts";
import { createDeliveries } from "./deliveries.ts";
import { withLegacyCode } from "./legacy-codes.ts";
import { ListeningTransport } from "./listening.ts";
import type { Era } from "./resources.ts";
import type { Runtime } from "./runtime.ts";
import { createServer } from "./server.ts";
import { createSubscriptions } from "./subscriptions.ts";

class EraTransport extends ListeningTransport {
  /** Known once the client has spoken. */
  era: Era | undefined;

  override async send(message: JSONRPCMessage): Promise<void> {
    await super.send(this.era === "legacy" ? withLegacyCode(message) : message);
  }
}

/** Serves until stdin ends. Returns a function that ends it earlier, and waits for what is still being written down. */
export function serveOnStdio(runtime: Runtime, stdin: Readable, stdout: Writable): () => Promise<void> {
  const deliveries = createDeliveries();
  const subscriptions = createSubscriptions(runtime);
  const connection = { deliveries, subscriptions, confirmation: createConfirmation(runtime) };
  const transport = new EraTransport(stdin, stdout, deliveries, subscriptions);
  const begin = ({ era }: { era: Era }) => {
    transport.era = era;
    return createServer(runtime, connection, era);
  };
  const handle = serveStdio(begin, {
    transport,
    onerror: (error) => runtime.log.warn({ reason: reasonOf(error) }, "protocol"),
  });
  return async () => {
    subscriptions.close();
    await handle.close();
    await deliveries.settled();
  };
}
