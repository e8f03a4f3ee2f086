// `mic-mcp serve`: the MCP server on stdio or over HTTP, against the configured service or an emulator inside this process.
import { SERVER_LIMIT_MS } from "../auth/keychain/keychain.ts";
import { type Config, EMULATED_GEOGRAPHY_RATE, readConfig } from "../config.ts";
import type { Emulator } from "../emulator/index.ts";
import { serveOnStdio } from "../mcp/stdio/serve.ts";
import type { Candidate } from "../toolkit/resources/candidate.ts";
import { compose } from "./compose.ts";
import { crashReason } from "./crash.ts";
import type { HttpFlags } from "./serve-flags.ts";
import type { Serving } from "./serving.ts";
import { onSignal } from "./signals.ts";

interface Backend {
  readonly config: Config;
  readonly notes: readonly string[];
  readonly files: readonly Candidate[];
  close(): Promise<void>;
}

const noBackend = (config: Config): Backend => ({ config, notes: [], files: [], close: async () => undefined });

const told = ({ id, name, about }: Emulator["files"][number]): string =>
  `${id} ${name}${about === "" ? "" : ` (${about})`}`;

/** What the instructions say of the emulator behind them. */
export const emulatorNotes = ({ files }: Pick<Emulator, "files">): readonly string[] => [
  "This server runs against an emulator of the service: nothing leaves this machine and all data is made up, but for the geography facts.",
  `Files to register (inputKind M4_FILE) or download by the same id: ${files.map(told).join(", ")}.`,
];

async function emulated(config: Config): Promise<Backend> {
  const { startEmulator } = await import("../emulator/index.ts");
  // Its limit lies above ours.
  const emulator = await startEmulator({ requestsPerPeer: 10 * EMULATED_GEOGRAPHY_RATE });
  const { baseUrl, clientId, clientSecret, workspaceId } = emulator;
  return {
    config: {
      ...config,
      baseUrl,
      credentials: { clientId, clientSecret },
      workspaceId: config.workspaceId ?? workspaceId,
    },
    notes: emulatorNotes(emulator),
    files: emulator.files.map(({ id, name }) => ({ value: id, name })),
    close: () => emulator.close(),
  };
}

const onStdio: Serving = async (runtime) => {
  const { stdin, stdout } = process;
  const ended = new Promise<void>((resolve) => {
    const end = () => resolve();
    stdin.once("end", end).once("close", end);
    // Whoever loaded this has listened until now. Every write to a pipe that nobody reads fails.
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
  const serving = http ? await overHttp(http) : onStdio;
  const backend = config.emulator ? await emulated(config) : noBackend(config);
  const { runtime, close } = compose(backend.config, {
    notes: backend.notes,
    files: backend.files,
    inProcess: config.emulator,
    keychainLimitMs: SERVER_LIMIT_MS,
  });
  for (const warning of config.warnings) runtime.log.warn({}, warning);
  process.removeAllListeners("uncaughtException").on("uncaughtException", (error: unknown) => {
    runtime.log.error({ reason: crashReason(error) }, "crash");
    process.exit(1);
  });

  try {
    const closeProtocol = await serving(runtime);
    // Whatever hangs on the way out must not keep the process: clients expect it gone within a second.
    setTimeout(() => process.exit(0), 800).unref();
    await closeProtocol().catch(() => undefined);
  } finally {
    await close();
    await backend.close();
  }
  process.exit(0);
}
