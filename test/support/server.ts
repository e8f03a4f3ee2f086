// The built server as a process that tests may kill, starve and cut off: raw protocol lines, answers by their id.
import { createInterface } from "node:readline";
import * as z from "zod/v4";
import { initialize, start } from "../mcp/stdio/child.ts";

const Result = z.looseObject({
  content: z.array(z.looseObject({ text: z.string().optional() })),
  structuredContent: z.looseObject({}).optional(),
  isError: z.boolean().optional(),
  _meta: z.looseObject({}).optional(),
});
const Answer = z.looseObject({
  id: z.number().optional(),
  result: z.looseObject({}).optional(),
  error: z.looseObject({}).optional(),
});
const Facts = z.looseObject({
  kind: z.string(),
  message: z.string(),
  sideEffect: z.enum(["none", "done", "unknown"]),
  retryable: z.boolean(),
  idempotencyKey: z.string().optional(),
  next: z.string().optional(),
});
const Action = z.object({ idempotencyKey: z.string(), replayed: z.boolean(), attempts: z.int() });

export interface Told {
  readonly text: string;
  readonly structured: Readonly<Record<string, unknown>> | undefined;
  readonly action: z.infer<typeof Action> | undefined;
  readonly error: z.infer<typeof Facts> | undefined;
}

export interface Server {
  readonly pid: number;
  /** Answers whose line has come; under an id of its own, or the one given. */
  call(tool: string, args: object, id?: number): Promise<Told>;
  /** Sends a call and waits for nothing. */
  send(tool: string, args: object, id: number): void;
  /** Of a call that was only sent. */
  answerTo(id: number): Promise<Told>;
  /** The same, if it has come. */
  received(id: number): Told | undefined;
  cancel(id: number): void;
  request(method: string, params: object): Promise<z.infer<typeof Answer>>;
  stderr(): string;
  /** Ends stdin. */
  endInput(): void;
  /** Nobody reads what the server writes any more. */
  breakOutput(): void;
  kill(): Promise<void>;
  readonly exit: Promise<unknown>;
}

export function toldBy(result: unknown): Told {
  const { content, structuredContent, _meta = {} } = Result.parse(result);
  const { "mic-mcp/error": facts } = _meta;
  const action = structuredContent?.["action"];
  return {
    text: content.flatMap(({ text = [] }) => text).join("\n"),
    structured: structuredContent,
    action: action === undefined ? undefined : Action.parse(action),
    error: facts === undefined ? undefined : Facts.parse(facts),
  };
}

export interface ServerOptions {
  readonly env: Readonly<Record<string, string>>;
  /** A command that runs the server as its own last arguments. */
  readonly under?: readonly string[];
}

/** Killed when the running test is done. */
export async function startServer({ env, under = [] }: ServerOptions): Promise<Server> {
  const program = start(["serve"], { env: { MIC_KEYCHAIN: "off", ...env }, under });
  const waiting = new Map<number, (answer: z.infer<typeof Answer>) => void>();
  const answers = new Map<number, z.infer<typeof Answer>>();
  await initialize(program);
  createInterface(program.process.stdout).on("line", (line) => {
    const answer = Answer.parse(JSON.parse(line));
    if (answer.id === undefined) return;
    answers.set(answer.id, answer);
    waiting.get(answer.id)?.(answer);
    waiting.delete(answer.id);
  });
  const answered = (id: number): Promise<z.infer<typeof Answer>> => {
    const known = answers.get(id);
    answers.delete(id);
    if (known) return Promise.resolve(known);
    return new Promise((resolve, reject) => {
      waiting.set(id, resolve);
      program.exit.then(() => reject(new Error(`the server has ended; on stderr: ${program.stderr()}`)));
    });
  };
  let lastId = 1000;
  const request = (method: string, params: object, id = ++lastId) => {
    answers.delete(id);
    const coming = answered(id);
    program.send({ jsonrpc: "2.0", id, method, params });
    return coming;
  };
  return {
    pid: program.process.pid ?? 0,
    call: async (tool, args, id) => toldBy((await request("tools/call", { name: tool, arguments: args }, id)).result),
    send: (name, args, id) =>
      program.send({ jsonrpc: "2.0", id, method: "tools/call", params: { name, arguments: args } }),
    answerTo: async (id) => toldBy((await answered(id)).result),
    received(id) {
      const answer = answers.get(id);
      return answer && toldBy(answer.result);
    },
    cancel: (requestId) =>
      program.send({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId, reason: "test" } }),
    request: (method, params) => request(method, params),
    stderr: program.stderr,
    endInput: () => void program.process.stdin.end(),
    breakOutput: () => void program.process.stdout.destroy(),
    async kill() {
      program.process.kill("SIGKILL");
      await program.exit;
    },
    exit: program.exit,
  };
}
