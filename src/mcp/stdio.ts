// MCP on stdin and stdout, for protocol revisions 2024-11-05 to 2025-11-25 and 2026-07-28.
import type { Readable, Writable } from "node:stream";
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import { reasonOf } from "../failure.ts";
import { ConfirmingTransport, createDeliveries } from "./deliveries.ts";
import type { Runtime } from "./runtime.ts";
import { createServer } from "./server.ts";

/** Serves until stdin ends. Returns a function that ends it earlier, and waits for what is still being written down. */
export function serveOnStdio(runtime: Runtime, stdin: Readable, stdout: Writable): () => Promise<void> {
  const deliveries = createDeliveries();
  const handle = serveStdio(() => createServer(runtime, deliveries), {
    transport: new ConfirmingTransport(stdin, stdout, deliveries),
    onerror: (error) => runtime.log.warn({ reason: reasonOf(error) }, "protocol"),
  });
  return async () => {
    await handle.close();
    await deliveries.settled();
  };
}
