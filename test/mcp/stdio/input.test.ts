// Tests stdin with the bytes that pipes and broken clients deliver: the server answers what it can and keeps running.
import { expect, test } from "vitest";
import { stubEnv } from "../../api-client/client.ts";
import { enveloped, job } from "../../contract/samples.ts";
import { openForFile } from "../../support/for-file.ts";
import { createLatch } from "../../support/latch.ts";
import { answer, holdUntil, stubForTest } from "../../support/stub.ts";
import { callMessage, initialize, launch, type Program, start } from "./child.ts";

async function startSession(): Promise<Program> {
  const program = start(["serve", "--emulator"]);
  await initialize(program);
  return program;
}

/** One server for all tests that read to the last answer: it must survive everything that it received before. */
const sharedSession = openForFile(
  async () => {
    const program = launch(["serve", "--emulator"], {});
    await initialize(program);
    return program;
  },
  async ({ process, exit }) => {
    process.stdin.end();
    expect(await exit).toMatchObject({ code: 0 });
  },
);

const ping = { jsonrpc: "2.0", id: "ping", method: "ping" };

const SIZE = 9_900_000;
const fillToSize = (part: string): string => part.repeat(Math.floor(SIZE / Buffer.byteLength(part)));

/** The complete refusal of a line, with an id only if `id` has one. */
const refusal = (id: { id?: number | string } = {}, code = -32600, text = "") => ({
  ...{ jsonrpc: "2.0", ...id },
  error: { code, message: expect.stringContaining(text) },
});
const largePing = (x: string) => `{"jsonrpc":"2.0","id":"much","method":"ping","params":{"x":${x}}}`;
const tooMany = refusal({ id: "much" }, -32600, "more than 200000");

test.each<readonly [what: string, line: string | Buffer, ...answers: object[]]>([
  ["invalid JSON", "GET / HTTP/1.1", refusal({}, -32700)],
  ["half an object", "{", refusal({}, -32700)],
  ["a null character", "\u0000", refusal({}, -32700)],
  ["invalid UTF-8", Buffer.from([0xff, 0xfe, 0xfd]), refusal({}, -32700)],
  ["a text", '"text"', refusal()],
  ["an empty object", "{}", refusal()],
  ["an empty batch", "[]", refusal()],
  ["a batch of numbers", "[1,2]", refusal(), refusal()],
  ["an id that is an object", '{"jsonrpc":"2.0","id":{},"method":"ping"}', refusal()],
  ["a response to no request, and a byte order mark", '{"jsonrpc":"2.0","id":9,"result":{}}\n\ufeff'],
  ["two byte order marks", '\ufeff\ufeff{"jsonrpc":"2.0","id":9,"method":"ping"}', refusal({}, -32700)],
  ["unfinished lists", "[".repeat(100_000), refusal({}, -32600, "nested")],
  ["another JSON-RPC version", '{"jsonrpc":"1.0","id":9,"method":"ping"}', refusal({ id: 9 })],
  ["a method that is not a string", '{"jsonrpc":"2.0","id":"a","method":5}', refusal({ id: "a" })],
  ["a request without its params", '{"jsonrpc":"2.0","id":77,"method":"tools/call"}', refusal({ id: 77 }, -32602)],
  // No request can have such an id.
  ["an invalid response", '{"jsonrpc":"2.0","id":9,"result":5}', refusal()],
  ["an id without a method", '{"id":9}', refusal()],
  ["the id null", '{"jsonrpc":"2.0","id":null,"method":"ping"}', refusal()],
  ["blank lines and a notification", '\n \n\t\r\n{"jsonrpc":"2.0","method":"no/such/notification"}'],
  [
    "nesting too deep for the stack",
    largePing(`${'{"a":'.repeat(20_000)}1${"}".repeat(20_000)}`),
    refusal({ id: "much" }, -32600, "nested"),
  ],
  ["a batch of millions of elements", `[${"1,".repeat(4_000_000)}1]`, refusal()],
  ["millions of lists", largePing(`[${fillToSize("[],")}1]`), tooMany],
  ["millions of objects", largePing(`[${fillToSize("{},")}1]`), tooMany],
  ["millions of nested lists", largePing(`[${fillToSize(`${"[".repeat(2_000)}${"]".repeat(2_000)},`)}1]`), tooMany],
  ["millions of members", largePing(`{${fillToSize('"a":1,')}"b":1}`), tooMany],
])(
  "a refused line gets one answer, under its id if it has one, and a blank line gets none: %s",
  async (_what, line, ...answers) => {
    const program = sharedSession();
    program.process.stdin.write(`${line}\n`);
    for (const expected of answers) expect(await program.next()).toEqual(expected);
    program.send(ping);
    expect(await program.next()).toMatchObject({ id: "ping", result: {} });
  },
);

test("a byte order mark at the start of a line is ignored", async () => {
  const program = start(["serve", "--emulator"]);
  for (const [before, after] of [
    ["\ufeff", "\n"],
    ["\ufeff", "\r\n"],
    ["\ufeff\n\ufeff", "\n"],
  ]) {
    program.process.stdin.write(`${before}${JSON.stringify(ping)}${after}`);
    expect(await program.next()).toMatchObject({ id: "ping", result: {} });
  }
});

test("each line that cannot be answered under its id is logged once, with the reason", async () => {
  const program = await startSession();
  for (const line of ["nonsense", "[1,2,3]", "[]", '{"id":9}']) program.process.stdin.write(`${line}\n`);
  program.process.stdin.end();
  await program.exit;
  expect(program.stderr().match(/refused on stdin: This (line|is) /g)).toHaveLength(4);
});

test("each message of a batch (revision 2025-03-26) is answered separately", async () => {
  const program = await startSession();
  program.send([
    callMessage(2, "list_states"),
    { jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: 99 } },
    { ...ping, id: 3 },
    { jsonrpc: "2.0", id: 4 },
  ]);
  program.send([]);
  const answers = await program.answersTo([2, 3]);
  expect(answers.get(2)).toMatchObject({ result: { structuredContent: {} } });
  expect(program.stdout().match(/-32600/g)).toHaveLength(2);
});

test("a second request with an id that is in flight starts after the first; both are answered", async () => {
  const stub = await stubForTest();
  const program = start(["serve"], { env: stubEnv(stub) });
  await initialize(program);
  const { released, release } = createLatch();
  stub.expect(holdUntil(released, answer(200, enveloped(job))), answer(200, enveloped(job)));
  program.send(callMessage(2, "get_job", { jobId: "job-1" }));
  program.send(callMessage(2, "get_job", { jobId: "job-2" }));
  await expect.poll(() => stub.requests.length).toBe(1);
  program.send(ping);
  expect(await program.next()).toMatchObject({ id: "ping" });
  expect(stub.requests).toHaveLength(1);
  release();
  for (const _ of [1, 2]) expect(await program.next()).toMatchObject({ id: 2, result: {} });
  expect(stub.requests.map(({ target }) => target.replace(/.*\//, ""))).toEqual(["job-1", "job-2"]);
});

test("a message in several chunks is one message", async () => {
  const program = sharedSession();
  const bytes = Buffer.from(`${JSON.stringify(callMessage(2, "get_job", { jobId: "täglich 🍨" }))}\n`);
  for (let at = 0; at < bytes.length; at += 3) {
    program.process.stdin.write(bytes.subarray(at, at + 3));
    await new Promise((resolve) => setImmediate(resolve));
  }
  expect(await program.next()).toMatchObject({ id: 2, result: { isError: true } });
});

test("several messages in one chunk, with any line endings, are each answered", async () => {
  const program = sharedSession();
  const messages = [2, 3, 4, 5].map((id) => JSON.stringify(callMessage(id, "list_states")));
  program.process.stdin.write(`${messages.join("\r\n")}\n`);
  await program.answersTo([2, 3, 4, 5]);
});

/** Sends list_states with these arguments, as JSON, and once without; expects that the answer ignores them and is short. */
async function expectIgnored(args: string): Promise<void> {
  const program = sharedSession();
  const params = `{"name":"list_states","arguments":${args}}`;
  program.process.stdin.write(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":${params}}\n`);
  program.send(callMessage(3, "list_states"));
  const answers = await program.answersTo([2, 3]);
  const [ignored, plain] = [2, 3].map((id) => JSON.stringify(answers.get(id)));
  expect(ignored).toContain('"summary":"Ignored unknown argument');
  expect(plain).toContain('"summary":');
  expect(plain).not.toContain("Ignored");
  expect(ignored?.length).toBeLessThan(Number(plain?.length) + 1_000);
}

test.each([
  ["one text", `"${fillToSize("y")}"`],
  ["one text of two-byte letters", `"${fillToSize("é")}"`],
  ["escaped quotes", `"${fillToSize('\\"')}"`],
  ["escapes", `"${fillToSize("\\u0041")}"`],
  ["numbers", `[${fillToSize("1,")}1]`],
])("a line just below the size limit is answered if it consists of %s", async (_, value) => {
  await expectIgnored(`{"x":${value}}`);
});

test("a read ignores 50,000 unknown or long arguments, an action refuses them, and both answers are short", async () => {
  const program = sharedSession();
  const many = Object.fromEntries(Array.from({ length: 50_000 }, (_, n) => [`unknown${n}`, n]));
  const long = { ["x".repeat(5_000_000)]: 1 };
  for (const args of [many, long]) await expectIgnored(JSON.stringify(args));
  const cancel = { jobId: "job-1", reason: "Submitted by mistake" };
  program.send(callMessage(2, "cancel_job", { ...cancel, ...many }));
  program.send(callMessage(3, "cancel_job", { ...cancel, ...long }));
  program.send(callMessage(4, "get_job", { jobId: "x".repeat(5_000_000) }));
  for (const each of (await program.answersTo([2, 3, 4])).values()) {
    expect(each).toMatchObject({ result: { _meta: { "mic-mcp/error": { kind: "invalid_arguments" } } } });
    expect(JSON.stringify(each).length).toBeLessThan(10_000);
  }
});

test("a last line without a line ending is not a message and does not delay the exit", async () => {
  const program = await startSession();
  program.process.stdin.end(JSON.stringify(callMessage(2, "list_states")));
  expect(await program.exit).toMatchObject({ code: 0 });
});
