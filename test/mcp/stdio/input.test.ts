// Tests stdin with the bytes that pipes and broken clients deliver: the server answers what it can and keeps running.
import { afterAll, beforeAll, expect, test } from "vitest";
import { stubEnv } from "../../api-client/client.ts";
import { enveloped, job } from "../../contract/samples.ts";
import { createLatch } from "../../support/latch.ts";
import { answer, holdUntil, stubForTest } from "../../support/stub.ts";
import { callMessage, initialize, launch, type Program, start } from "./child.ts";

async function startSession(): Promise<Program> {
  const program = start(["serve", "--emulator"]);
  await initialize(program);
  return program;
}

/** One server for all tests that read to the last answer: it must survive everything that it received before. */
let sharedServer: Program | undefined;
beforeAll(async () => {
  sharedServer = launch(["serve", "--emulator"], {});
  await initialize(sharedServer);
});
afterAll(async () => {
  sharedServer?.process.stdin.end();
  expect(await sharedServer?.exit).toMatchObject({ code: 0 });
});
const sharedSession = (): Program => {
  if (sharedServer === undefined) throw new Error("the server is there only while tests run");
  return sharedServer;
};

const toLine = (message: unknown): string => `${JSON.stringify(message)}\n`;

const malformedLines = [
  ...["{", "}", "[]", "[1,2]", "null", "42", '"text"', "{}", "", "   ", "\u0000", "GET / HTTP/1.1", "\ufeff"],
  '{"jsonrpc":"2.0","id":{},"method":"ping"}',
  '{"jsonrpc":"2.0","method":5}',
  "[".repeat(100_000),
  '{"jsonrpc":"2.0","id":9,"result":{}}',
];

test("malformed lines of every kind do not end the server", async () => {
  const program = await startSession();
  for (const text of malformedLines) program.process.stdin.write(`${text}\n`);
  program.process.stdin.write(Buffer.from([0xff, 0xfe, 0xfd, 0x0a]));
  program.send(callMessage(2, "list_states"));
  const answers = await program.answersTo([2]);
  expect(answers.get(2)).toMatchObject({ result: { structuredContent: {} } });
});

const INVALID = { error: { code: -32600 } };

test.each<readonly [string, string, object]>([
  ["invalid JSON", "GET / HTTP/1.1", { error: { code: -32700 } }],
  ["a request of another JSON-RPC version", '{"jsonrpc":"1.0","id":9,"method":"ping"}', { id: 9, ...INVALID }],
  ["a method that is not a string", '{"jsonrpc":"2.0","id":"a","method":5}', { id: "a", ...INVALID }],
  ["a request without its params", '{"jsonrpc":"2.0","id":77,"method":"tools/call"}', { id: 77, error: {} }],
])("%s is refused, under its id if it has one", async (_, text, refusal) => {
  const program = sharedSession();
  program.process.stdin.write(`${text}\n`);
  const response = await program.next();
  expect(response).toMatchObject(refusal);
  if (!("id" in refusal)) expect(response).not.toHaveProperty("id");
});

test.each(['{"jsonrpc":"2.0","id":9,"result":5}', '{"id":9}', '{"jsonrpc":"2.0","id":null,"method":"ping"}'])(
  "%s is refused without an id, because no request can have such an id",
  async (text) => {
    const program = sharedSession();
    program.process.stdin.write(`${text}\n`);
    const response = await program.next();
    expect(response).toMatchObject(INVALID);
    expect(response).not.toHaveProperty("id");
  },
);

test("blank lines and notifications are not answered", async () => {
  const program = sharedSession();
  for (const text of ["", " ", "\t\r", '{"jsonrpc":"2.0","method":"no/such/notification"}'])
    program.process.stdin.write(`${text}\n`);
  program.send({ jsonrpc: "2.0", id: 2, method: "ping" });
  expect(await program.next()).toMatchObject({ id: 2, result: {} });
});

test("each message of a batch (revision 2025-03-26) is answered separately", async () => {
  const program = await startSession();
  const batch = [
    callMessage(2, "list_states"),
    { jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: 99 } },
    { jsonrpc: "2.0", id: 3, method: "ping" },
    { jsonrpc: "2.0", id: 4 },
  ];
  program.send(batch);
  program.send([]);
  const answers = await program.answersTo([2, 3]);
  expect(answers.get(2)).toMatchObject({ result: { structuredContent: {} } });
  const refusals = program
    .stdout()
    .split("\n")
    .filter((text) => text.includes("-32600"));
  expect(refusals).toHaveLength(2);
});

test("a second request with an id that is in flight starts after the first; both are answered", async () => {
  const stub = await stubForTest();
  const program = start(["serve"], { env: stubEnv(stub) });
  await initialize(program);
  const { released, release } = createLatch();
  stub.expect(holdUntil(released, answer(200, enveloped(job))), answer(200, enveloped(job)));
  program.send(callMessage(2, "get_job", { jobId: "job-1" }));
  program.send(callMessage(2, "get_job", { jobId: "job-2" }));
  await expect.poll(() => stub.requests.length, { timeout: 10_000 }).toBe(1);
  program.send({ jsonrpc: "2.0", id: 3, method: "ping" });
  expect(await program.next()).toMatchObject({ id: 3 });
  expect(stub.requests).toHaveLength(1);
  release();
  expect(await program.next()).toMatchObject({ id: 2, result: {} });
  expect(await program.next()).toMatchObject({ id: 2, result: {} });
  expect(stub.requests.map(({ target }) => target.replace(/.*\//, ""))).toEqual(["job-1", "job-2"]);
});

test("a message in several chunks is one message", async () => {
  const program = sharedSession();
  const bytes = Buffer.from(toLine(callMessage(2, "get_job", { jobId: "täglich 🍨" })));
  for (let at = 0; at < bytes.length; at += 3) {
    program.process.stdin.write(bytes.subarray(at, at + 3));
    await new Promise((resolve) => setImmediate(resolve));
  }
  expect(await program.next()).toMatchObject({ id: 2, result: { isError: true } });
});

test("several messages in one chunk, with any line endings, are each answered", async () => {
  const program = sharedSession();
  const messages = [2, 3, 4, 5].map((id) => callMessage(id, "list_states"));
  program.process.stdin.write(`${messages.map((message) => JSON.stringify(message)).join("\r\n")}\n`);
  await program.answersTo([2, 3, 4, 5]);
});

test("a message of 5 MB is answered, and so is the one after it", async () => {
  const program = sharedSession();
  program.send(callMessage(2, "get_job", { jobId: "x".repeat(5_000_000) }));
  program.send(callMessage(3, "list_states"));
  const answers = await program.answersTo([2, 3]);
  expect(answers.get(2)).toMatchObject({ result: { isError: true } });
  expect(JSON.stringify(answers.get(2)).length).toBeLessThan(10_000);
  expect(answers.get(3)).toMatchObject({ result: { structuredContent: {} } });
});

test("arguments that are nested too deep for the stack are refused, and the server keeps running", async () => {
  const program = sharedSession();
  const deep = `${'{"a":'.repeat(20_000)}1${"}".repeat(20_000)}`;
  program.process.stdin.write(
    `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"submit_job","arguments":{"parameterValues":${deep}}}}\n`,
  );
  program.send(callMessage(3, "list_states"));
  const answers = await program.answersTo([2, 3]);
  expect(answers.get(2)).toMatchObject({ error: { code: -32600, message: expect.stringContaining("nested") } });
  expect(answers.get(3)).toMatchObject({ result: { structuredContent: {} } });
});

test("a batch of millions of elements is refused with one error", async () => {
  const program = sharedSession();
  program.process.stdin.write(`[${"1,".repeat(4_000_000)}1]\n`);
  program.send({ jsonrpc: "2.0", id: 3, method: "ping" });
  expect(await program.next()).toMatchObject(INVALID);
  expect(await program.next()).toMatchObject({ id: 3, result: {} });
});

const IGNORED = expect.stringMatching(/^Ignored unknown argument/);
const NOT_IGNORED = expect.not.stringContaining("Ignored");

const SIZE = 9_900_000;
const fillToSize = (part: string): string => part.repeat(Math.floor(SIZE / Buffer.byteLength(part)));

test.each([
  ["one text", `"${fillToSize("y")}"`],
  ["one text of two-byte letters", `"${fillToSize("é")}"`],
  ["escaped quotes", `"${fillToSize('\\"')}"`],
  ["escapes", `"${fillToSize("\\u0041")}"`],
  ["numbers", `[${fillToSize("1,")}1]`],
])("a line just below the size limit is answered if it consists of %s", async (_, value) => {
  const program = sharedSession();
  const params = `{"name":"list_states","arguments":{"x":${value}}}`;
  program.process.stdin.write(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":${params}}\n`);
  program.send(callMessage(3, "list_states"));
  const answers = await program.answersTo([2, 3]);
  expect(answers.get(2)).toMatchObject({ result: { structuredContent: { summary: IGNORED } } });
  expect(JSON.stringify(answers.get(2)).length).toBeLessThan(JSON.stringify(answers.get(3)).length + 1_000);
  expect(answers.get(3)).toMatchObject({ result: { structuredContent: { summary: NOT_IGNORED } } });
});

test.each([
  ["lists", `[${fillToSize("[],")}1]`],
  ["objects", `[${fillToSize("{},")}1]`],
  ["nested lists", `[${fillToSize(`${"[".repeat(2_000)}${"]".repeat(2_000)},`)}1]`],
  ["members", `{${fillToSize('"a":1,')}"b":1}`],
])("a line with millions of %s is refused under its id without being parsed", async (_, value) => {
  const program = sharedSession();
  program.process.stdin.write(`{"jsonrpc":"2.0","id":"much","method":"ping","params":{"x":${value}}}\n`);
  program.send({ jsonrpc: "2.0", id: 3, method: "ping" });
  const message = expect.stringContaining("more than 200000");
  expect(await program.next()).toMatchObject({ id: "much", error: { code: -32600, message } });
  expect(await program.next()).toMatchObject({ id: 3, result: {} });
});

const MANY_ARGUMENTS = Object.fromEntries(Array.from({ length: 50_000 }, (_, n) => [`unknown${n}`, n]));
const LONG_ARGUMENT = { ["x".repeat(5_000_000)]: 1 };

test("a read with 50,000 unknown arguments ignores them, and its answer names only a few", async () => {
  const program = sharedSession();
  program.send(callMessage(2, "list_states", MANY_ARGUMENTS));
  program.send(callMessage(3, "list_states", LONG_ARGUMENT));
  program.send(callMessage(4, "list_states"));
  const answers = await program.answersTo([2, 3, 4]);
  for (const id of [2, 3]) {
    expect(answers.get(id)).toMatchObject({ result: { structuredContent: { summary: IGNORED } } });
    expect(JSON.stringify(answers.get(id)).length).toBeLessThan(JSON.stringify(answers.get(4)).length + 1_000);
  }
});

test("an action with 50,000 unknown arguments is refused with a short answer", async () => {
  const program = sharedSession();
  const cancel = { jobId: "job-1", reason: "Submitted by mistake" };
  program.send(callMessage(2, "cancel_job", { ...cancel, ...MANY_ARGUMENTS }));
  program.send(callMessage(3, "cancel_job", { ...cancel, ...LONG_ARGUMENT }));
  for (const answer of (await program.answersTo([2, 3])).values()) {
    expect(answer).toMatchObject({ result: { _meta: { "mic-mcp/error": { kind: "invalid_arguments" } } } });
    expect(JSON.stringify(answer).length).toBeLessThan(10_000);
  }
});

test("a last line without a line ending is not a message and does not delay the exit", async () => {
  const program = await startSession();
  program.process.stdin.end(JSON.stringify(callMessage(2, "list_states")));
  expect(await program.exit).toMatchObject({ code: 0 });
});
