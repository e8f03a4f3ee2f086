// MCP on stdin and stdout, for protocol revisions 2024-11-05 to 2025-11-25 and 2026-07-28.
import type { Readable, Writable } from "node:stream";
import { ProtocolError, ResourceNotFoundError } from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import { reasonOf } from "../failure.ts";
import { createConfirmation } from "./confirmation.ts";
import { createDeliveries } from "./deliveries.ts";
import { ListeningTransport } from "./listening.ts";
import type { Era } from "./resources.ts";
import type { Runtime } from "./runtime.ts";
import { createServer } from "./server.ts";
import { createSubscriptions } from "./subscriptions.ts";

/** What resource-not-found is in revisions to 2025-11-25; the SDK sends 2026-07-28's code to everyone. */
const LEGACY_NOT_FOUND = -32002;

class EraTransport extends ListeningTransport {
  /** Known once the client has spoken. */
  era: Era | undefined;

  override async send(message: Parameters<ListeningTransport["send"]>[0]): Promise<void> {
    if (this.era !== "legacy" || !("error" in message)) return await super.send(message);
    const { code, message: text, data } = message.error;
    const isNotFound = ProtocolError.fromError(code, text, data) instanceof ResourceNotFoundError;
    return await super.send(isNotFound ? { ...message, error: { ...message.error, code: LEGACY_NOT_FOUND } } : message);
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
