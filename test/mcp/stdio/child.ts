// Runs the built program as a child process, with its stdin, stdout, stderr and exit.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { onTestFinished } from "vitest";
import * as z from "zod/v4";
import { createEmptyHome } from "../../support/empty-home.ts";
import { bareEnvironment, entryArguments } from "../../support/mcp.ts";
import { isThorough } from "../../support/thorough.ts";
import { posixMissing } from "../../support/unless.ts";

export interface Exit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

export type Program = ReturnType<typeof launch>;

type Id = string | number;
const Answer = z.looseObject({ id: z.union([z.string(), z.number()]) });

interface Options {
  readonly env?: Readonly<Record<string, string>>;
  readonly node?: readonly string[];
  /** A command whose last arguments run node. */
  readonly launcher?: readonly string[];
  /** For `run`: the complete stdin (default: empty). */
  readonly input?: string | Buffer;
}

/** Starts `mic-mcp <args>` with an environment of PATH, HOME (an empty folder), MIC_KEYCHAIN=off and `env`. */
export function launch(args: readonly string[], { env = {}, node = [], launcher = [] }: Options) {
  const [command = "", ...rest] = [...launcher, process.execPath, ...node, ...entryArguments(), ...args];
  const home = createEmptyHome();
  const child = spawn(command, rest, {
    env: { ...bareEnvironment(home.path), ...env },
    stdio: ["pipe", "pipe", "pipe"],
  });
  child.once("close", home.remove);
  const out: Buffer[] = [];
  const err: Buffer[] = [];
  child.stdout.on("data", (chunk: Buffer) => out.push(chunk));
  child.stderr.on("data", (chunk: Buffer) => err.push(chunk));
  // Some tests write to a program that has exited.
  child.stdin.on("error", () => undefined);
  const exit = new Promise<Exit>((resolve) => {
    child.once("close", (code, signal) => resolve({ code, signal }));
  });
  const pendingLines: string[] = [];
  const lines = createInterface(child.stdout).on("line", (line) => pendingLines.push(line));
  /** Returns the next line on stdout that was not returned yet, as JSON; rejects if the program ends before. */
  async function next(): Promise<unknown> {
    while (pendingLines.length === 0) {
      const hasEnded = await Promise.race([once(lines, "line").then(() => false), exit.then(() => true)]);
      if (hasEnded && pendingLines.length === 0)
        throw new Error(`the program has ended; on stderr: ${Buffer.concat(err)}`);
    }
    return JSON.parse(pendingLines.shift() ?? "");
  }
  return {
    process: child,
    stdout: () => Buffer.concat(out).toString(),
    stderr: () => Buffer.concat(err).toString(),
    exit,
    send: (message: unknown) => void child.stdin.write(`${JSON.stringify(message)}\n`),
    next,
    /** Resolves when each of these requests has its answer, in any order; rejects at an answer to another id. */
    async answersTo(ids: readonly Id[]) {
      const pending = new Set(ids);
      const found = new Map<Id, z.infer<typeof Answer>>();
      while (pending.size > 0) {
        const { data: answer } = Answer.safeParse(await next());
        if (answer === undefined) continue;
        if (!pending.delete(answer.id)) throw new Error(`nobody is waiting for an answer to ${answer.id}`);
        found.set(answer.id, answer);
      }
      return found;
    },
  };
}

export function start(args: readonly string[], options: Options = {}) {
  const program = launch(args, options);
  onTestFinished(async () => {
    program.process.kill("SIGKILL");
    await program.exit;
  });
  return program;
}

/** Runs a command until it exits; concurrent tests may use it, too. */
export async function run(args: readonly string[], options: Options = {}) {
  const program = launch(args, options);
  program.process.stdin.end(options.input);
  const { code } = await program.exit;
  return { code, stdout: program.stdout(), stderr: program.stderr() };
}

export const initializeMessage = {
  jsonrpc: "2.0",
  id: 1,
  method: "initialize",
  params: { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "raw", version: "1" } },
} as const;
export const initializedMessage = { jsonrpc: "2.0", method: "notifications/initialized" } as const;

/** Initializes a session as clients of 2025 do, with the request id 1. */
export async function initialize(program: Program): Promise<unknown> {
  program.send(initializeMessage);
  const answer = await program.next();
  program.send(initializedMessage);
  return answer;
}

export const idRange = (from: number, count: number): readonly number[] =>
  Array.from({ length: count }, (_, n) => from + n);

export const callMessage = (id: number, name: string, args: object = {}) => ({
  jsonrpc: "2.0",
  id,
  method: "tools/call",
  params: { name, arguments: args },
});

// On Windows, a signal from another process kills. shutdown.test.ts tests all three in each run.
const signals = posixMissing === undefined ? (["SIGTERM", "SIGINT", "SIGHUP"] as const) : [];

/** The ways to end a server in an orderly way. */
export const endings: readonly (readonly [string, (program: Program) => void])[] = [
  ...signals.map((name) => [name, ({ process }: Program) => void process.kill(name)] as const),
  ["the end of stdin", ({ process }) => void process.stdin.end()],
  [
    "a client that stops reading",
    (program) => {
      program.process.stdout.destroy();
      // Answers may be in the pipe already; the answer to this request has no reader.
      program.send({ jsonrpc: "2.0", id: 9, method: "ping" });
    },
  ],
];

/** `endings`, but only one signal in a usual run, because all signals have the same handler. */
export const usualEndings = endings.slice(isThorough ? 0 : Math.max(0, signals.length - 1));
