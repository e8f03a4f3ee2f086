// A client that exchanges raw protocol lines with a server, a process that tests may kill or one in this process.
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { onTestFinished } from "vitest";
import * as z from "zod/v4";
import { initializedMessage, initializeMessage, type Program, start } from "../mcp/stdio/child.ts";
import { serveInProcess } from "./in-process.ts";
import { type CallResult, readResult } from "./results.ts";

const Message = z.looseObject({
  jsonrpc: z.literal("2.0"),
  id: z.union([z.number(), z.string(), z.null()]).optional(),
  result: z.looseObject({ resultType: z.string().optional() }).optional(),
  error: z.looseObject({ code: z.number(), message: z.string(), data: z.unknown().optional() }).optional(),
});
export type Answer = z.infer<typeof Message>;

export interface ServerOptions {
  readonly env: Readonly<Record<string, string>>;
  /** A command that runs the server as its last arguments. */
  readonly under?: readonly string[];
}

/** Sends messages to a server and returns its answers, one per line. */
export interface ServerChannel {
  send(message: unknown): void;
  readonly answers: Readable;
  /** Resolves with the reason when no more answers can arrive. */
  readonly ended: Promise<string>;
  /** Kills a process; ends a server in this process in an orderly way. */
  end(): Promise<void>;
}

/** Starts a separate server in this process. The caller must end it. */
export function openInProcessChannel(env: Readonly<Record<string, string>>): ServerChannel {
  const { stdin, stdout, close } = serveInProcess(env);
  let closing: Promise<void> | undefined;
  return {
    send: (message) => void stdin.write(`${JSON.stringify(message)}\n`),
    answers: stdout,
    ended: new Promise((resolve) => stdout.once("close", () => resolve("the server has ended"))),
    end: () => (closing ??= close()),
  };
}

export const openProcessChannel = ({ send, process, exit, stderr }: Program): ServerChannel => ({
  send,
  answers: process.stdout,
  ended: exit.then(() => `the server has ended; on stderr: ${stderr()}`),
  async end() {
    process.kill("SIGKILL");
    await exit;
  },
});

/** Creates a client of a server that was just started. It sends no message itself. A line that is not a message fails the test. */
export function createLineClient({ send, answers: stream, ended }: ServerChannel) {
  const waiting = new Map<number, (answer: Answer) => void>();
  const answers = new Map<number, Answer>();
  const notifications: unknown[] = [];
  createInterface(stream).on("line", (line) => {
    const message = Message.parse(JSON.parse(line));
    if (typeof message.id !== "number") return void notifications.push(message);
    const resolveAnswer = waiting.get(message.id);
    waiting.delete(message.id);
    if (resolveAnswer) resolveAnswer(message);
    else answers.set(message.id, message);
  });
  const waitForAnswer = (id: number): Promise<Answer> => {
    const known = answers.get(id);
    answers.delete(id);
    if (known) return Promise.resolve(known);
    return new Promise((resolve, reject) => {
      waiting.set(id, resolve);
      ended.then((why) => reject(new Error(why)));
    });
  };
  let lastId = 1000;
  return {
    send: (message: object) => send({ jsonrpc: "2.0", ...message }),
    /** The id is new unless it is given. */
    request(method: string, params: object = {}, id = ++lastId) {
      answers.delete(id);
      const coming = waitForAnswer(id);
      send({ jsonrpc: "2.0", id, method, params });
      return coming;
    },
    waitForAnswer,
    /** Answers that no request waits for, by their ids. */
    answers,
    notifications,
  };
}

export type LineClient = ReturnType<typeof createLineClient>;

async function initializeClient(channel: ServerChannel) {
  const { send, request, waitForAnswer, answers } = createLineClient(channel);
  const toCallParams = (name: string, args: object) => ({ name, arguments: args });
  await request(initializeMessage.method, initializeMessage.params);
  send(initializedMessage);
  return {
    /** Calls a tool and resolves with its result. The id is new unless it is given. */
    call: async (tool: string, args: object, id?: number): Promise<CallResult> =>
      readResult((await request("tools/call", toCallParams(tool, args), id)).result),
    send: (tool: string, args: object, id: number) =>
      send({ id, method: "tools/call", params: toCallParams(tool, args) }),
    /** Resolves with the result of a call that was sent with `send`. */
    waitForResult: async (id: number) => readResult((await waitForAnswer(id)).result),
    received(id: number) {
      const answer = answers.get(id);
      return answer && readResult(answer.result);
    },
    cancel: (requestId: number) => send({ method: "notifications/cancelled", params: { requestId, reason: "test" } }),
    request: (method: string, params: object) => request(method, params),
  };
}
export type RawClient = Awaited<ReturnType<typeof initializeClient>>;

/** Starts a server in a separate process, which is killed when the running test ends. */
export async function startServer({ env, under = [] }: ServerOptions) {
  const program = start(["serve"], { env: { MIC_KEYCHAIN: "off", ...env }, launcher: under });
  const channel = openProcessChannel(program);
  return {
    ...(await initializeClient(channel)),
    pid: program.process.pid ?? 0,
    stderr: program.stderr,
    closeInput: () => void program.process.stdin.end(),
    /** Closes the reading end of the server's stdout. */
    breakOutput: () => void program.process.stdout.destroy(),
    kill: channel.end,
    exit: program.exit,
  };
}
export type Server = Awaited<ReturnType<typeof startServer>>;

/** Starts a server in this process, which ends with the running test or, with everything written, by `end`. */
export async function inProcessServerForTest(env: Readonly<Record<string, string>>) {
  const channel = openInProcessChannel(env);
  onTestFinished(channel.end);
  return { ...(await initializeClient(channel)), end: channel.end };
}
export type InProcessServer = Awaited<ReturnType<typeof inProcessServerForTest>>;
