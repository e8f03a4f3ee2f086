// Tests many calls and large ones: each is answered once, and none of them stays in memory.
import { expect, test } from "vitest";
import { peakMegabytes } from "../../support/process.ts";
import { posixMissing, testUnless, thoroughMissing } from "../../support/unless.ts";
import { callMessage, idRange, initialize, type Program, start } from "./child.ts";
import { heapBytes, reportsHeap } from "./measurements.ts";

const MB = 1_000_000;

const toLines = (messages: readonly object[]): string => messages.map((each) => `${JSON.stringify(each)}\n`).join("");

async function startSession(node: readonly string[] = []): Promise<Program> {
  const program = start(["serve", "--emulator"], { node });
  await initialize(program);
  return program;
}

/** Frequent requests and errors: from a cache, from the API, refused, unknown. */
const mixedMessage = (id: number): object =>
  [
    callMessage(id, "list_states"),
    callMessage(id, "list_states", { wrong: true }),
    { jsonrpc: "2.0", id, method: "ping" },
    callMessage(id, "no_such_tool"),
    { jsonrpc: "2.0", id, method: "resources/read", params: { uri: "mic://geography/states" } },
  ][id % 5] ?? {};

testUnless(posixMissing ?? thoroughMissing, "thousands of calls do not leak memory", async () => {
  const program = await startSession(reportsHeap);
  const count = 10_000;
  async function callAll(from: number): Promise<number> {
    for (let at = from; at < from + count; at += 100) {
      program.process.stdin.write(toLines(idRange(at, 100).map(mixedMessage)));
      await program.answersTo(idRange(at, 100));
    }
    return await heapBytes(program);
  }
  const limit = 50 * count;
  // The first calls fill caches and compile code.
  let before = await callAll(2);
  let growth = limit;
  // The size of the heap varies, but a leak makes it grow each time.
  for (let time = 1; time <= 3 && growth >= limit; time++) {
    const after = await callAll(2 + time * count);
    growth = after - before;
    before = after;
  }
  expect(growth).toBeLessThan(limit);
});

const megabyte = Buffer.alloc(MB, "x");

/** Writes only as fast as the server reads. */
async function write(program: Program, ...parts: readonly (string | Buffer)[]): Promise<void> {
  for (const part of parts) await new Promise((resolve) => program.process.stdin.write(part, resolve));
}

test.each<readonly [string, head: string, tail: string, id: object]>([
  [
    "its id before the arguments",
    `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"`,
    `"}}\n`,
    { id: 7 },
  ],
  [
    "its id after the arguments",
    `{"method":"tools/call","params":{"name":"`,
    `"},"jsonrpc":"2.0","id":7}\n`,
    { id: 7 },
  ],
  ["no id", "", "\n", {}],
])(
  "a line of 100 MB with %s is refused under its id, if it has one, and is not kept in memory",
  async (_, head, tail, id) => {
    const program = await startSession();
    const { pid = 0 } = program.process;
    const before = await peakMegabytes(pid);
    await write(program, head, ...Array.from({ length: 100 }, () => megabyte), tail);
    const message = expect.stringMatching(/^.{0,60}1000000\d\d bytes.*the maximum is 10485760.{0,60}$/);
    expect(await program.next()).toEqual({ jsonrpc: "2.0", ...id, error: { code: -32600, message } });
    expect((await peakMegabytes(pid)) - before).toBeLessThan(80);
    program.send(callMessage(8, "list_states"));
    expect(await program.next()).toMatchObject({ id: 8, result: { structuredContent: {} } });
    await write(program, ...Array.from({ length: 20 }, () => megabyte));
    program.process.stdin.end();
    expect(await program.exit).toMatchObject({ code: 0 });
  },
);
