// Handles the signals that stop a server. The entry point handles them first; the server replaces that handler when it is loaded.
import type { HttpServer } from "../transports/http/listener.ts";

export const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/** Replaces all listeners of these signals. */
export function onSignal(listener: (signal: NodeJS.Signals) => void): void {
  for (const signal of SIGNALS) {
    const before = process.listeners(signal);
    // Added before the other listeners are removed: without a listener, Node would drop a pending signal.
    process.on(signal, listener);
    for (const each of before) process.off(signal, each);
  }
}

interface DrainTimes {
  /** Time before the drain in which requests are still served (default 0). */
  readonly delayMs?: number;
  /** Calls in flight that do not end within this time are aborted. Their actions stay in the journal in both cases. */
  readonly drainMs: number;
  /** Time for closing after the drain. Then the process exits, even if closing hangs. */
  readonly closeMs: number;
}

/** Prints the URL and `facts` as one JSON line, serves until a signal, and drains. A second signal aborts the calls in flight. */
export async function serveUntilSignal(
  { url, drain }: HttpServer,
  { delayMs = 0, drainMs, closeMs }: DrainTimes,
  facts: object = {},
): Promise<void> {
  process.stdout.write(`${JSON.stringify({ url, ...facts })}\n`);
  const abortNow = new AbortController();
  await new Promise<void>((resolve) => {
    let signals = 0;
    onSignal(() => {
      signals += 1;
      if (signals > 1) abortNow.abort();
      setTimeout(() => process.exit(0), closeMs + (signals > 1 ? 0 : delayMs + drainMs)).unref();
      resolve();
    });
  });
  await drain(drainMs, abortNow.signal, delayMs);
}
