// `mic-mcp serve --http`: the same server for many clients of this machine at once, until a signal ends it.

import { FLUSH_MS } from "../telemetry/port.ts";
import { loopbackAddress } from "../transports/http/loopback.ts";
import { serveOnHttp } from "../transports/http/serve.ts";
import type { HttpFlags } from "./serve-flags.ts";
import type { Serving } from "./serving.ts";
import { onSignal } from "./signals.ts";

/** What a call under way has to end by itself, before it is aborted. Its action stays in the journal either way. */
const DRAIN_MS = 10_000;

/** What hangs after that must not keep the process. */
const BACKSTOP_MS = 800;

/** Throws UsageError for a host beyond loopback. */
export async function overHttp({ host = "127.0.0.1", port = 0 }: HttpFlags): Promise<Serving> {
  const address = await loopbackAddress(host);
  return async (runtime) => {
    const { url, drain } = await serveOnHttp(runtime, address, port);
    // Nobody has to read it.
    process.stdout.on("error", () => undefined);
    process.stdout.write(`${JSON.stringify({ url })}\n`);
    const now = new AbortController();
    const backstopMs = BACKSTOP_MS + (runtime.telemetry ? FLUSH_MS : 0);
    await new Promise<void>((resolve) => {
      let signals = 0;
      const end = () => {
        signals += 1;
        if (signals > 1) now.abort();
        setTimeout(() => process.exit(0), backstopMs + (signals > 1 ? 0 : DRAIN_MS)).unref();
        resolve();
      };
      onSignal(end);
    });
    await drain(DRAIN_MS, now.signal);
    return async () => undefined;
  };
}
