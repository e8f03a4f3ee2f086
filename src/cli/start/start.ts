// A server's client is met before the program is loaded. The rest of the program does not know that.
import { createRedactor } from "../../auth/redaction.ts";
import type { Answered } from "../../telemetry/port.ts";
import { crashBeforeLog } from "../crash.ts";
import { isParseError, serveFlags } from "../serve-flags.ts";
import { onSignal } from "../signals.ts";
import { receive } from "./reception.ts";
import { usualSettings } from "./settings.ts";

/** A hash of the built program, put here by the build; there is none when the sources run. */
declare const BUILT_MAIN: string | undefined;

type Program = typeof import("../main.ts");
const isProgram = (value: unknown): value is Program => typeof value === "object" && value !== null && "main" in value;

async function loadProgram(): Promise<Program> {
  if (typeof BUILT_MAIN === "undefined") return await import("../main.ts");
  const { loadCached } = await import("./code-cache.ts");
  const program = loadCached("main.js", BUILT_MAIN);
  return isProgram(program) ? program : await import("../main.ts");
}

function flagsOf(argv: readonly string[], environment: NodeJS.ProcessEnv) {
  const [first, ...rest] = argv;
  try {
    return serveFlags(first === "serve" ? rest : argv, environment);
  } catch (error) {
    if (isParseError(error)) return undefined;
    throw error;
  }
}

/** Only a server on stdio, against a service elsewhere: whatever is wrong with a command line is for the program to say. */
async function meet(argv: readonly string[], environment: NodeJS.ProcessEnv): Promise<readonly Answered[]> {
  // No client speaks on a terminal: a person has typed the name alone.
  if (argv.length === 0 && process.stdin.isTTY) return [];
  const flags = flagsOf(argv, environment);
  if (!flags) return [];
  const end = () => process.exit(0);
  // Until the server takes them over: loading it takes a moment.
  onSignal(end);
  if (flags.isHttp || flags.isTeams) return [];
  process.stdout.on("error", end);
  const settings = flags.misplaced !== undefined ? undefined : usualSettings(flags.whole);
  if (!settings) return [];
  const redactor = createRedactor();
  for (const secret of settings.secrets) redactor.add(secret);
  process.on("uncaughtException", crashBeforeLog(redactor));
  return await receive(settings, process.stdin, process.stdout, end);
}

/** Runs one command line to its end. */
export async function start(argv: readonly string[], environment: NodeJS.ProcessEnv): Promise<void> {
  // A reader who has gone is no fault: a command finishes what it does.
  process.stdout.on("error", () => undefined);
  const answered = await meet(argv, environment);
  const { main } = await loadProgram();
  process.exitCode = await main(argv, environment, answered);
}
