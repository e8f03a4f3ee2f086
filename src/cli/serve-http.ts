// Implements `mic-mcp serve --http`: one server for many clients on this machine, which runs until a signal stops it.
import type { Runtime } from "../mcp/runtime.ts";
import { FLUSH_MS } from "../telemetry/port.ts";
import { loopbackAddress } from "../transports/http/loopback.ts";
import { serveOnHttp } from "../transports/http/serve.ts";
import type { HttpFlags } from "./commands.ts";
import { onSignal } from "./signals.ts";

/** Calls in flight are aborted if they do not end within this time. Their actions stay in the journal in either case. */
const DRAIN_MS = 10_000;

/** Time for closing after draining; then the process exits even if closing hangs. */
const BACKSTOP_MS = 800;

/** Throws UsageError if the host is not a loopback address. */
export async function createHttpRunner({ host = "127.0.0.1", port = 0 }: HttpFlags) {
  const address = await loopbackAddress(host);
  return async (runtime: Runtime): Promise<() => Promise<void>> => {
    const { url, drain } = await serveOnHttp(runtime, address, port);
    process.stdout.write(`${JSON.stringify({ url })}\n`);
    const forceStop = new AbortController();
    const backstopMs = BACKSTOP_MS + (runtime.telemetry ? FLUSH_MS : 0);
    await new Promise<void>((resolve) => {
      let signals = 0;
      onSignal(() => {
        signals += 1;
        if (signals > 1) forceStop.abort();
        setTimeout(() => process.exit(0), backstopMs + (signals > 1 ? 0 : DRAIN_MS)).unref();
        resolve();
      });
    });
    await drain(DRAIN_MS, forceStop.signal);
    return async () => undefined;
  };
}
