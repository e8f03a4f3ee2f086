// Serves all reads of 2026-07-28 with one server: each request itself states who asks and what the client supports. The SDK's
// own handler creates a server for each request.
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import { reasonOf } from "../../failure.ts";
import { createReads } from "../messages/reads.ts";
import type { Ask } from "./answer.ts";
import type { HttpService } from "./port.ts";
import { Wire } from "./wire.ts";

export interface ModernReads {
  readonly ask: Ask;
  /** Aborts reads under way. */
  close(): Promise<void>;
}

export function createModernReads(service: HttpService): ModernReads {
  const reads = createReads();
  const wire = new Wire(reads);
  const subscriptions = service.createSubscriptions();
  const connection = { subscriptions, onReads: reads.serve };
  // The SDK's entry for a connection that lasts; its transport may be any.
  const { close } = serveStdio(({ era }) => service.createServer(connection, era), {
    transport: wire,
    legacy: "reject",
    onerror: (error) => service.log.debug({ reason: reasonOf(error) }, "protocol"),
  });
  return {
    ask: wire.ask,
    async close() {
      subscriptions.close();
      await close();
    },
  };
}
