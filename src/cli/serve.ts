// Implements `mic-mcp serve`: the MCP server on stdio, or over HTTP for many clients on this machine.
import { readConfig } from "../core/config.ts";
import { SERVER_LIMIT_MS } from "../credentials/keychain/keychain.ts";
import type { Log, Runtime } from "../mcp/runtime.ts";
import { FLUSH_MS } from "../telemetry/port.ts";
import { serveOnStdio } from "../transports/stdio/serve.ts";
import { openBackend } from "./backend.ts";
import type { HttpFlags } from "./commands.ts";
import { compose } from "./compose.ts";
import { crashReason, createConfigRedactor, createLog } from "./log.ts";
import { onSignal } from "./signals.ts";
import { loadTelemetry } from "./telemetry.ts";

/** Resolves with a function that closes the protocol when the server should stop. Rejects if the server cannot start. */
type ServerRunner = (runtime: Runtime) => Promise<() => Promise<void>>;

const runOnStdio: ServerRunner = async (runtime) => {
  const { stdin, stdout } = process;
  const stopRequested = new Promise<void>((resolve) => {
    const requestStop = () => resolve();
    stdin.once("end", requestStop).once("close", requestStop);
    // Replaces the entry point's listener: a write fails once the client has closed the pipe.
    stdout.removeAllListeners("error").on("error", requestStop).once("close", requestStop);
    onSignal(requestStop);
  });
  const closeProtocol = serveOnStdio(runtime, { stdin, stdout });
  await stopRequested;
  return closeProtocol;
};

/** Logs crashes with redaction; Node itself would print them without it. */
function logCrashes(log: Log): void {
  process.removeAllListeners("uncaughtException").on("uncaughtException", (error: unknown) => {
    log.error({ reason: crashReason(error) }, "crash");
    process.exit(1);
  });
}

/** Serves on stdio, or over HTTP if `listen` is given. Exits with code 0 after the client disconnects or on a signal. Throws UsageError. */
export async function serve(environment: NodeJS.ProcessEnv, listen: HttpFlags | undefined): Promise<number> {
  const config = readConfig(environment);
  logCrashes(createLog(config.logLevel, createConfigRedactor(config)));
  const run = listen ? await (await import("./serve-http.ts")).createHttpRunner(listen) : runOnStdio;
  const backend = await openBackend(config);
  const telemetry = await loadTelemetry(environment, { hasPort: listen !== undefined });
  const { runtime, containerNotice, close } = compose(backend.config, {
    notes: backend.notes,
    files: backend.files,
    inProcess: backend.inProcess,
    keychainLimitMs: SERVER_LIMIT_MS,
    telemetry,
  });
  for (const warning of config.warnings) runtime.log.warn({}, warning);
  if (containerNotice !== undefined) runtime.log.warn({}, containerNotice);
  logCrashes(runtime.log);

  try {
    const closeProtocol = await run(runtime);
    // Clients expect the process to exit within 1 s, even if closing hangs.
    setTimeout(() => process.exit(0), 800 + (runtime.telemetry ? FLUSH_MS : 0)).unref();
    await closeProtocol().catch(() => undefined);
  } finally {
    await Promise.all([close(), runtime.telemetry?.close()]);
    await backend.close();
  }
  process.exit(0);
}
