// Opens the API that a command uses, and the runtime of commands that call tools; writes the output of such commands.
import { type Config, EMULATED_GEOGRAPHY_RATE, readConfig, UsageError } from "../core/config.ts";
import { abortFailure, Failure, type FailureFacts, toReport } from "../core/failure.ts";
import { escapeJson } from "../core/untrusted-text.ts";
import { COMMAND_LIMIT_MS } from "../credentials/keychain/keychain.ts";
import type { Emulator } from "../emulator/index.ts";
import type { Note } from "../mcp/instructions.ts";
import type { Runtime } from "../mcp/runtime.ts";
import { factsOf, reportFailure } from "../mcp/tools/answer.ts";
import { agentReaderOf } from "../mcp/tools/call.ts";
import { type Backend, compose } from "./compose.ts";
import { exitCodeOf } from "./errors.ts";
import { findRunningEmulator } from "./running-emulator.ts";
import { SIGNALS } from "./signals.ts";
import { isTerminal } from "./terminal.ts";
import { terminalReader } from "./terminal-reader.ts";

interface OpenBackend extends Backend {
  close(): Promise<void>;
}

export function emulatorNotes({ files }: Pick<Emulator, "files">): readonly Note[] {
  const listed = files.map(({ id, name, about }) => `${id} ${name}${about === "" ? "" : ` (${about})`}`);
  return [
    { text: "The API is an emulator: all data except geography is made up; nothing leaves this machine." },
    { requiredTools: ["download_asset"], text: `Files (M4_FILE): ${listed.join(", ")}.` },
  ];
}

const createBackend = (config: Config): OpenBackend => ({
  config,
  inProcess: false,
  notes: [],
  files: [],
  close: async () => undefined,
});

export async function openBackend(config: Config): Promise<OpenBackend> {
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
  readonly isJson: boolean;
  /** Aborted by the first Ctrl-C; a second one ends the process. */
  readonly signal: AbortSignal;
}

/** Resolves when the text is written, or when the reader has closed the stream. */
export const writeLine = (stream: NodeJS.WriteStream, text: string): Promise<void> =>
  new Promise((resolve) => stream.write(`${text}\n`, () => resolve()));

export const writeJson = (value: unknown, { runtime }: Pick<CommandContext, "runtime">): Promise<void> =>
  writeLine(
    process.stdout,
    escapeJson(runtime.redactor.redact(JSON.stringify(value, null, isTerminal(process.stdout) ? 2 : 0))),
  );

export const TEMPORARY_EMULATOR =
  "This emulator ends with the command. To keep its jobs, run mic-mcp emulator in another terminal.";

async function writeFailure(name: string, facts: FailureFacts, context: CommandContext): Promise<number> {
  const { runtime, flags, inProcess, isJson } = context;
  const mayChange = runtime.tools.some((tool) => tool.name === name && tool.isWrite);
  const { text } = reportFailure(name, facts, terminalReader(runtime, flags), mayChange);
  await writeLine(process.stderr, runtime.redactor.redact(text));
  if (inProcess && facts.kind === "not_found") await writeLine(process.stderr, TEMPORARY_EMULATOR);
  if (isJson) await writeJson({ error: toReport(facts, agentReaderOf(runtime)) }, context);
  return exitCodeOf(facts);
}

/** Runs a command with the same tools as a server. `name`: the tool or command of a failure. Throws UsageError. */
export async function withRuntime(
  name: string,
  environment: NodeJS.ProcessEnv,
  { emulator = false, json: isJson = false }: { readonly emulator?: boolean; readonly json?: boolean },
  work: (context: CommandContext) => Promise<number>,
): Promise<number> {
  const given = emulator ? { ...environment, MIC_EMULATOR: "1" } : environment;
  const config = readConfig(given);
  for (const warning of config.warnings) process.stderr.write(`mic-mcp: ${warning}\n`);
  const running = config.emulator ? await findRunningEmulator(config.stateDir) : undefined;
  const backend = running ? createBackend(readConfig({ ...given, ...running })) : await openBackend(config);
  const { inProcess } = backend;
  const { runtime, close } = compose(backend, COMMAND_LIMIT_MS);
  const stopped = new AbortController();
  const { signal } = stopped;
  const stop = () => {
    if (signal.aborted) process.exit(1);
    stopped.abort();
  };
  const context = { runtime, signal, flags: emulator ? ["--emulator"] : [], inProcess, isJson };
  for (const each of SIGNALS) process.on(each, stop);
  try {
    return await work(context);
  } catch (error) {
    if (error instanceof UsageError) throw error;
    const isStop = signal.aborted && !(error instanceof Failure);
    return await writeFailure(name, isStop ? abortFailure(signal).facts : factsOf(error), context);
  } finally {
    for (const each of SIGNALS) process.off(each, stop);
    await close();
    await backend.close();
  }
}
