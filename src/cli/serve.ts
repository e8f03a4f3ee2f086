// Implements `mic-mcp serve`: the MCP server on stdio, or over HTTP for many clients on this machine.
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { type Config, readConfig } from "../core/config.ts";
import { Failure } from "../core/failure.ts";
import { AGENT, render } from "../core/text.ts";
import { SERVER_LIMIT_MS } from "../credentials/keychain/keychain.ts";
import type { Runtime } from "../mcp/runtime.ts";
import { FLUSH_MS } from "../telemetry/port.ts";
import { serveOnStdio } from "../transports/stdio/serve.ts";
import { openBackend } from "./backend.ts";
import { commandOf, type HttpFlags } from "./commands.ts";
import { compose } from "./compose.ts";
import { exitCodeOf, reportError } from "./errors.ts";
import { createConfigRedactor, createLog, logCrashes } from "./log.ts";
import { onSignal, serveUntilSignal } from "./signals.ts";
import { loadTelemetry } from "./telemetry.ts";

/** Resolves with a function that closes the protocol when the server should stop. Rejects if the server cannot start. */
type ServerRunner = (runtime: Runtime) => Promise<() => Promise<void>>;

/** Longer than a start takes, also on a busy machine. */
const COLLECT_AFTER_MS = 10_000;

/** Frees what the start has left, about half of the memory: without calls, V8 would keep it as long as the server runs. */
function collectGarbage(): void {
  setFlagsFromString("--expose-gc");
  const gc: unknown = runInNewContext("gc");
  if (typeof gc === "function") Reflect.apply(gc, undefined, [{ type: "major", execution: "async" }]);
}

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
  setTimeout(collectGarbage, COLLECT_AFTER_MS).unref();
  await stopRequested;
  return closeProtocol;
};

const HTTP_DRAIN_MS = 10_000;

/** Time for closing after the protocol has ended. Clients expect the process to exit within 1 s, even if closing hangs. */
const closeMs = ({ telemetry }: Runtime): number => 800 + (telemetry ? FLUSH_MS : 0);

const NO_TOKEN =
  "--no-token: every user and program of this machine can use this server with your credentials; use it only for tests";

async function createHttpRunner(
  { host = "127.0.0.1", port = 0, mayOmitToken }: HttpFlags,
  { httpToken, stateDir }: Config,
): Promise<ServerRunner> {
  const { loopbackAddress } = await import("../transports/http/access.ts");
  const { serveOnHttp } = await import("../transports/http/serve.ts");
  const { loadHttpToken } = await import("../transports/http/token.ts");
  const address = await loopbackAddress(host);
  const loadToken = async () => (httpToken === undefined ? await loadHttpToken(stateDir) : { token: httpToken });
  const access = mayOmitToken ? undefined : await loadToken();
  return async (runtime) => {
    if (access) runtime.redactor.add(access.token);
    else runtime.log.warn({}, NO_TOKEN);
    const server = await serveOnHttp(runtime, { address, port, access });
    const times = { drainMs: HTTP_DRAIN_MS, closeMs: closeMs(runtime) };
    await serveUntilSignal(server, times, { tokenFile: access?.tokenFile });
    return async () => undefined;
  };
}

/** Serves on stdio, or over HTTP if `listen` is given. Exit code 4: there is no token for HTTP. Throws UsageError. */
export async function serve(environment: NodeJS.ProcessEnv, listen: HttpFlags | undefined): Promise<number> {
  const config = readConfig(environment);
  logCrashes(createLog(config.logLevel, createConfigRedactor(config)));
  let run = runOnStdio;
  try {
    if (listen) run = await createHttpRunner(listen, config);
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    reportError(error, commandOf("serve"));
    return exitCodeOf(error.facts);
  }
  const backend = await openBackend(config);
  const telemetry = await loadTelemetry(environment, listen !== undefined);
  const { runtime, containerNotice, close } = compose(backend, SERVER_LIMIT_MS, telemetry);
  for (const warning of config.warnings) runtime.log.warn({}, warning);
  if (containerNotice !== undefined) runtime.log.warn({}, render(containerNotice, AGENT));
  logCrashes(runtime.log);

  try {
    const closeProtocol = await run(runtime);
    setTimeout(() => process.exit(0), closeMs(runtime)).unref();
    await closeProtocol().catch(() => undefined);
  } finally {
    await Promise.all([close(), runtime.telemetry?.close()]);
    await backend.close();
  }
  process.exit(0);
}
