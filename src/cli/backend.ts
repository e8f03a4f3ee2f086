// Opens the API that a command uses (configured, or emulated in this process) and the runtime of commands that call tools.

import { type Config, EMULATED_GEOGRAPHY_RATE, readConfig } from "../core/config.ts";
import { COMMAND_LIMIT_MS } from "../credentials/keychain/keychain.ts";
import type { Emulator } from "../emulator/index.ts";
import type { Note } from "../mcp/instructions.ts";
import type { Runtime } from "../mcp/runtime.ts";
import type { CompletionValue } from "../toolkit/completion-value.ts";
import { compose } from "./compose.ts";
import { findRunningEmulator } from "./running-emulator.ts";
import { SIGNALS } from "./signals.ts";

export interface Backend {
  readonly config: Config;
  /** True if the API is an emulator in this process, which ends with it. */
  readonly inProcess: boolean;
  readonly notes: readonly Note[];
  readonly files: readonly CompletionValue[];
  close(): Promise<void>;
}

/** Returns the notes about an emulator for the server instructions. */
export function emulatorNotes({ files }: Pick<Emulator, "files">): readonly Note[] {
  const listed = files.map(({ id, name, about }) => `${id} ${name}${about === "" ? "" : ` (${about})`}`);
  return [
    {
      text: "This server runs against a local emulator: all data except geography is made up, and nothing is sent to other machines.",
    },
    { requiredTools: ["download_asset"], text: `Its files (M4_FILE): ${listed.join(", ")}.` },
  ];
}

/** Returns the backend for an API in another process. */
const createBackend = (config: Config): Backend => ({
  config,
  inProcess: false,
  notes: [],
  files: [],
  close: async () => undefined,
});

export async function openBackend(config: Config): Promise<Backend> {
  if (!config.emulator) return createBackend(config);
  const { startEmulator } = await import("../emulator/index.ts");
  // The emulator's rate limit must be above the server's own.
  const emulator = await startEmulator({ requestsPerPeer: 10 * EMULATED_GEOGRAPHY_RATE });
  const { baseUrl, clientId, clientSecret, workspaceId } = emulator;
  return {
    config: {
      ...config,
      baseUrl,
      credentials: { clientId, clientSecret },
      workspaceId: config.workspaceId ?? workspaceId,
    },
    inProcess: true,
    notes: emulatorNotes(emulator),
    files: emulator.files.map(({ id, name }) => ({ value: id, name })),
    close: () => emulator.close(),
  };
}

export interface CommandContext {
  readonly runtime: Runtime;
  /** The flags that commands in the output need to reach the same API. */
  readonly flags: readonly string[];
  /** True if the API is an emulator in this process, which ends with the command. */
  readonly inProcess: boolean;
  /** Aborted by the first Ctrl-C; a second one ends the process. */
  readonly signal: AbortSignal;
}

/** Runs a command with the same tools as a server. Throws UsageError if a setting is invalid. */
export async function withRuntime(
  environment: NodeJS.ProcessEnv,
  { emulator = false }: { readonly emulator?: boolean | undefined },
  work: (context: CommandContext) => Promise<number>,
): Promise<number> {
  const given = emulator ? { ...environment, MIC_EMULATOR: "1" } : environment;
  const config = readConfig(given);
  for (const warning of config.warnings) process.stderr.write(`mic-mcp: ${warning}\n`);
  const running = config.emulator ? await findRunningEmulator(config.stateDir) : undefined;
  const { inProcess, ...backend } = running
    ? createBackend(readConfig({ ...given, ...running }))
    : await openBackend(config);
  const { runtime, close } = compose(backend.config, {
    notes: backend.notes,
    inProcess,
    keychainLimitMs: COMMAND_LIMIT_MS,
  });
  const stopped = new AbortController();
  const stop = () => {
    if (stopped.signal.aborted) process.exit(1);
    stopped.abort();
  };
  for (const signal of SIGNALS) process.on(signal, stop);
  try {
    return await work({ runtime, signal: stopped.signal, flags: emulator ? ["--emulator"] : [], inProcess });
  } finally {
    for (const signal of SIGNALS) process.off(signal, stop);
    await close();
    await backend.close();
  }
}
