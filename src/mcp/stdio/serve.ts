// Serves MCP on stdin and stdout, for protocol revisions 2024-11-05 to 2025-11-25 and 2026-07-28.
import type { Readable, Writable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import type { McpRequestContext, ProtocolEra } from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import { reasonOf } from "../../failure.ts";
import { withLegacyCode } from "../messages/legacy-codes.ts";
import { createReads } from "../messages/reads.ts";
import { createRedact } from "../messages/redact.ts";
import { createSubscriptions } from "../resources/subscriptions.ts";
import type { Runtime } from "../runtime.ts";
import { createServer } from "../server.ts";
import { createConfirmation } from "../tools/confirmation.ts";
import { createDeliveries } from "../tools/deliveries.ts";
import { createListens } from "./listens.ts";
import { readsBefore } from "./reads.ts";
import { StdioTransport } from "./transport.ts";

export interface Stdio {
  readonly stdin: Readable;
  readonly stdout: Writable;
}

/** The longest time between the closing of a dying client's pipes and the new parent of its children. */
const DEATH_MS = 250;
const DEATH_LOOK_MS = 5;

/** Serves until stdin ends. Returns a function that ends it earlier, and waits for the journal. */
export function serveOnStdio(runtime: Runtime, { stdin, stdout }: Stdio): () => Promise<void> {
  const deliveries = createDeliveries();
  const client = process.ppid;
  const subscriptions = createSubscriptions(runtime);
  /** Known once the client has spoken. */
  let era: ProtocolEra | undefined;
  const listens = createListens(subscriptions);
  const reads = createReads();
  const filter = readsBefore(reads, {
    inbound: listens.inbound,
    outbound: (message, pass) => listens.outbound(era === "legacy" ? withLegacyCode(message) : message, pass),
  });
  const confirmation = createConfirmation(runtime);
  const connection = { deliveries, subscriptions, confirmation, network: "pipe" as const, onReads: reads.serve };
  const sessionEnded = runtime.telemetry?.session("pipe");
  const transport = new StdioTransport(stdin, stdout, createRedact(runtime.redactor), deliveries, filter);
  const begin = (context: McpRequestContext) => {
    era = context.era;
    return createServer(runtime, connection, era);
  };
  const handle = serveStdio(begin, {
    transport,
    onerror: (error) => runtime.log.warn({ reason: reasonOf(error) }, "protocol"),
  });
  return async () => {
    subscriptions.close();
    await handle.close();
    sessionEnded?.();
    // A client that ends in good order outlives this process. It is our parent, so its death shows, a moment after its pipes
    // have closed.
    const hasDied = () => process.ppid !== client || stdout.errored !== null;
    const until = performance.now() + DEATH_MS;
    while (!hasDied() && deliveries.mayBeUnread() && performance.now() < until) await sleep(DEATH_LOOK_MS);
    if (hasDied()) deliveries.died();
    await deliveries.settled();
  };
}
