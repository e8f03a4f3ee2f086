// What a start goes through: a server's client is met before the program is loaded, and has then heard the first answers.
import { readConfig, UsageError } from "../../config.ts";
import type { Answered } from "../../mcp/first-answers.ts";
import { isParseError, serveFlags } from "../serve-flags.ts";
import { onSignal } from "../signals.ts";
import { receive } from "./reception.ts";

/** A hash of the built program, put here by the build; there is none when the sources run. */
declare const BUILT_MAIN: string | undefined;

type Program = typeof import("../main.ts");
const isProgram = (value: unknown): value is Program => typeof value === "object" && value !== null && "main" in value;

async function loadProgram(): Promise<Program> {
  if (typeof BUILT_MAIN === "undefined") return await import("../main.ts");
  const { loadCached } = await import("../code-cache.ts");
  const program = loadCached("main.js", BUILT_MAIN);
  return isProgram(program) ? program : await import("../main.ts");
}

/** Only a server on stdio, against a service elsewhere: whatever is wrong with a command line is for the program to say. */
async function met(argv: readonly string[], environment: NodeJS.ProcessEnv): Promise<Answered> {
  const [first, ...rest] = argv;
  try {
    const args = first === "serve" ? rest : argv;
    const { emulator, isHttp, whole } = serveFlags(args, environment);
    const end = () => process.exit(0);
    // Until the server takes them over: loading it takes a moment.
    onSignal(end);
    if (isHttp) return new Map();
    process.stdout.on("error", end);
    if (emulator) return new Map();
    return await receive(readConfig(whole), process.stdin, process.stdout, end);
  } catch (error) {
    if (error instanceof UsageError || isParseError(error)) return new Map();
    throw error;
  }
}

/** Runs one command line to its end. */
export async function front(argv: readonly string[], environment: NodeJS.ProcessEnv): Promise<void> {
  // A reader who has gone is no fault: a command finishes what it does.
  process.stdout.on("error", () => undefined);
  const answered = await met(argv, environment);
  const { main } = await loadProgram();
  process.exitCode = await main(argv, environment, answered);
}
