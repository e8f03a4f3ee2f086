// MCP on stdin and stdout, for protocol revisions 2024-11-05 to 2025-11-25 and 2026-07-28.
import type { Readable, Writable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import type { JSONRPCMessage } from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import { reasonOf } from "../../failure.ts";
import { withLegacyCode } from "../legacy-codes.ts";
import { createExit } from "../redact-messages.ts";
import type { Era } from "../resources/resources.ts";
import { createSubscriptions } from "../resources/subscriptions.ts";
import type { Runtime } from "../runtime.ts";
import { createServer } from "../server.ts";
import { createConfirmation } from "../tools/confirmation.ts";
import { createDeliveries } from "../tools/deliveries.ts";
import { ListeningTransport } from "./listening.ts";

class EraTransport extends ListeningTransport {
  /** Known once the client has spoken. */
  era: Era | undefined;

  override async send(message: JSONRPCMessage): Promise<void> {
    await super.send(this.era === "legacy" ? withLegacyCode(message) : message);
  }
}

export interface Stdio {
  readonly stdin: Readable;
  readonly stdout: Writable;
}

/** Between the closing of a dying client's pipes and its children's new parent. */
const DEATH_MS = 250;
const DEATH_LOOK_MS = 5;

/** Serves until stdin ends. Returns a function that ends it earlier, and waits for what is still being written down. */
export function serveOnStdio(runtime: Runtime, stdio: Stdio): () => Promise<void> {
  const deliveries = createDeliveries();
  const client = process.ppid;
  const subscriptions = createSubscriptions(runtime);
  const connection = { deliveries, subscriptions, confirmation: createConfirmation(runtime) };
  const transport = new EraTransport(
    stdio.stdin,
    stdio.stdout,
    createExit(runtime.redactor),
    deliveries,
    subscriptions,
  );
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
    // A client that ends in good order lives until this process has gone; it started it, so that its death shows. It shows a
    // moment after its pipes are closed.
    const hasDied = () => process.ppid !== client || stdio.stdout.errored !== null;
    const until = performance.now() + DEATH_MS;
    while (!hasDied() && deliveries.mayBeUnread() && performance.now() < until) await sleep(DEATH_LOOK_MS);
    if (hasDied()) deliveries.died();
    await deliveries.settled();
  };
}
