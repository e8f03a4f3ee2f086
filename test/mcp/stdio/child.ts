// The built program as a plain child process: its bytes on stdout and stderr, its exit, its stdin in our hands.
import { type ChildProcessByStdio, spawn } from "node:child_process";
import type { Readable, Writable } from "node:stream";
import { onTestFinished } from "vitest";
import * as z from "zod/v4";
import { createEmptyHome } from "../../support/empty-home.ts";
import { bareEnvironment, entryArguments } from "../../support/mcp.ts";

export interface Exit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

export interface Program {
  readonly process: ChildProcessByStdio<Writable, Readable, Readable>;
  stdout(): string;
  stderr(): string;
  readonly exit: Promise<Exit>;
  /** Writes one JSON-RPC message as one line. */
  send(message: unknown): void;
  /** The next line on stdout that no one has taken yet, as JSON. */
  next(): Promise<unknown>;
  /** Until all of these have come, in any order and with whatever in between: each answer by its id, once. */
  answersTo(ids: readonly Id[]): Promise<ReadonlyMap<Id, Answer>>;
}

type Id = string | number;
const Answer = z.looseObject({ id: z.union([z.string(), z.number()]) });
type Answer = z.infer<typeof Answer>;

interface Options {
  readonly env?: Readonly<Record<string, string>>;
  /** node's own arguments, before the entry point. */
  readonly node?: readonly string[];
  /** A command that runs node as its own last arguments. */
  readonly launcher?: readonly string[];
  /** Another entry point than the built one. */
  readonly entry?: string;
  /** For `run`: all that is on stdin; default nothing. */
  readonly input?: string | Buffer;
}

/** `mic-mcp <args>` with PATH, HOME (an empty folder), MIC_KEYCHAIN=off and `env`, nothing else. */
export function launch(args: readonly string[], { env = {}, node = [], launcher = [], entry }: Options): Program {
  const [command = process.execPath, ...rest] = [
    ...launcher,
    process.execPath,
    ...node,
    ...(entry === undefined ? entryArguments() : [entry]),
    ...args,
  ];
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
  // Some tests write to a program that has gone.
  child.stdin.on("error", () => undefined);
  const exit = new Promise<Exit>((resolve) => {
    child.once("close", (code, signal) => resolve({ code, signal }));
  });
  const stdout = () => Buffer.concat(out).toString();
  const lines: string[] = [];
  let partialLine = "";
  const decoder = new TextDecoder();
  child.stdout.on("data", (chunk: Buffer) => {
    const [first = "", ...remaining] = decoder.decode(chunk, { stream: true }).split("\n");
    partialLine += first;
    for (const next of remaining) {
      lines.push(partialLine);
      partialLine = next;
    }
  });
  let readCount = 0;
  async function next(): Promise<unknown> {
    for (;;) {
      const line = lines[readCount];
      if (line !== undefined) {
        readCount++;
        return JSON.parse(line);
      }
      if (child.exitCode !== null) throw new Error(`the program has ended; on stderr: ${Buffer.concat(err)}`);
      await new Promise<void>((resolve) => {
        const wake = () => {
          child.stdout.off("data", wake);
          child.off("exit", wake);
          resolve();
        };
        child.stdout.on("data", wake);
        child.on("exit", wake);
      });
    }
  }
  return {
    process: child,
    stdout,
    stderr: () => Buffer.concat(err).toString(),
    exit,
    send: (message) => void child.stdin.write(`${JSON.stringify(message)}\n`),
    next,
    async answersTo(ids) {
      const pending = new Set(ids);
      const found = new Map<Id, Answer>();
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

/** Starts a program that is killed when the running test is done. */
export function start(args: readonly string[], options: Options = {}): Program {
  const program = launch(args, options);
  onTestFinished(async () => {
    program.process.kill("SIGKILL");
    await program.exit;
  });
  return program;
}

/** Runs a command to its end; for concurrent tests too. */
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

/** The beginning of a session as clients of 2025 speak it; id 1 is taken by it. */
export async function initialize(program: Program): Promise<unknown> {
  program.send(initializeMessage);
  const answer = await program.next();
  program.send(initializedMessage);
  return answer;
}

export const callMessage = (id: number, name: string, args: object = {}) => ({
  jsonrpc: "2.0",
  id,
  method: "tools/call",
  params: { name, arguments: args },
});
