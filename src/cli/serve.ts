// `mic-mcp serve`: the MCP server on stdio or over HTTP, against the configured service or an emulator inside this process.

import { readConfig } from "../config.ts";
import { SERVER_LIMIT_MS } from "../credentials/keychain/keychain.ts";
import { FLUSH_MS } from "../telemetry/port.ts";
import { serveOnStdio } from "../transports/stdio/serve.ts";
import { backendOf } from "./backend.ts";
import { crashBeforeLog, crashReason, redactorOf } from "./crash.ts";
import { compose } from "./local.ts";
import type { HttpFlags } from "./serve-flags.ts";
import type { Serving } from "./serving.ts";
import { onSignal } from "./signals.ts";
import { telemetryFor } from "./telemetry.ts";

const onStdio: Serving = async (runtime) => {
  const { stdin, stdout } = process;
  const ended = new Promise<void>((resolve) => {
    const end = () => resolve();
    stdin.once("end", end).once("close", end);
    // Replaces the entry point's listener: a write fails once the client has closed the pipe.
    stdout.removeAllListeners("error").on("error", end).once("close", end);
    onSignal(end);
  });
  const closeProtocol = serveOnStdio(runtime, { stdin, stdout });
  await ended;
  return closeProtocol;
};

async function overHttp(flags: HttpFlags): Promise<Serving> {
  const http = await import("./serve-http.ts");
  return await http.overHttp(flags);
}

/** On stdio, or over HTTP where `http` says so. Resolves with the exit code once the client has gone or a signal came. */
export async function serve(environment: NodeJS.ProcessEnv, http: HttpFlags | undefined): Promise<number> {
  const config = readConfig(environment);
  process.on("uncaughtException", crashBeforeLog(redactorOf(config)));
  const serving = http ? await overHttp(http) : onStdio;
  const backend = await backendOf(config);
  const telemetry = await telemetryFor(environment, { hasPort: http !== undefined });
  const { runtime, close } = compose(backend.config, {
    notes: backend.notes,
    files: backend.files,
    inProcess: config.emulator,
    keychainLimitMs: SERVER_LIMIT_MS,
    telemetry,
  });
  for (const warning of config.warnings) runtime.log.warn({}, warning);
  process.removeAllListeners("uncaughtException").on("uncaughtException", (error: unknown) => {
    runtime.log.error({ reason: crashReason(error) }, "crash");
    process.exit(1);
  });

  try {
    const closeProtocol = await serving(runtime);
    // Whatever hangs on the way out must not keep the process: clients expect it gone within a second.
    setTimeout(() => process.exit(0), 800 + (runtime.telemetry ? FLUSH_MS : 0)).unref();
    await closeProtocol().catch(() => undefined);
  } finally {
    await Promise.all([close(), runtime.telemetry?.close()]);
    await backend.close();
  }
  process.exit(0);
}
