// Bytes on stdin as pipes and broken clients deliver them: the server answers what it can and lives on.
import { expect, test } from "vitest";
import { callMessage, initialize, type Program, start } from "./child.ts";

async function session(): Promise<Program> {
  const program = start(["serve", "--emulator"]);
  await initialize(program);
  return program;
}

const line = (message: unknown): string => `${JSON.stringify(message)}\n`;

/** Answers may come in any order, and refusals of broken lines in between. */
async function answersTo(program: Program, ids: readonly number[]): Promise<readonly object[]> {
  const found = new Map<unknown, object>();
  while (!ids.every((id) => found.has(id))) {
    const message = await program.next();
    if (typeof message === "object" && message !== null && "id" in message) found.set(message.id, message);
  }
  return ids.flatMap((id) => found.get(id) ?? []);
}

test("malformed lines of every kind are survived", async () => {
  const program = await session();
  const broken = [
    "{",
    "}",
    "[]",
    "[1,2]",
    "null",
    "42",
    '"text"',
    "{}",
    '{"jsonrpc":"1.0","id":9,"method":"ping"}',
    '{"jsonrpc":"2.0","id":{},"method":"ping"}',
    '{"jsonrpc":"2.0","method":5}',
    "",
    "   ",
    "\u0000",
    "GET / HTTP/1.1",
    "\ufeff",
    `${"[".repeat(100_000)}`,
    '{"jsonrpc":"2.0","id":9,"result":{}}',
    '{"jsonrpc":"2.0","id":77,"method":"tools/call"}',
  ];
  for (const text of broken) program.process.stdin.write(`${text}\n`);
  program.process.stdin.write(Buffer.from([0xff, 0xfe, 0xfd, 0x0a]));
  program.send(callMessage(2, "list_states"));
  const [answer] = await answersTo(program, [2]);
  expect(answer).toMatchObject({ result: { structuredContent: {} } });
});

test("a message in pieces is one message", async () => {
  const program = await session();
  const bytes = Buffer.from(line(callMessage(2, "get_job", { jobId: "täglich 🍨" })));
  for (let at = 0; at < bytes.length; at += 3) {
    program.process.stdin.write(bytes.subarray(at, at + 3));
    await new Promise((resolve) => setImmediate(resolve));
  }
  expect(await program.next()).toMatchObject({ id: 2, result: { isError: true } });
});

test("several messages in one chunk, with any line ends, are several", async () => {
  const program = await session();
  const messages = [2, 3, 4, 5].map((id) => callMessage(id, "list_states"));
  program.process.stdin.write(`${messages.map((message) => JSON.stringify(message)).join("\r\n")}\n`);
  expect(await answersTo(program, [2, 3, 4, 5])).toHaveLength(4);
});

test("a message of 5 MB is answered, and so is the one after it", async () => {
  const program = await session();
  program.send(callMessage(2, "get_job", { jobId: "x".repeat(5_000_000) }));
  program.send(callMessage(3, "list_states"));
  const [large, small] = await answersTo(program, [2, 3]);
  expect(large).toMatchObject({ result: { isError: true } });
  expect(JSON.stringify(large).length).toBeLessThan(10_000);
  expect(small).toMatchObject({ result: { structuredContent: {} } });
});

test("arguments nested deeper than any stack are refused, and the server lives", async () => {
  const program = await session();
  const deep = `${'{"a":'.repeat(20_000)}1${"}".repeat(20_000)}`;
  program.process.stdin.write(
    `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"submit_job","arguments":{"parameterValues":${deep}}}}\n`,
  );
  program.send(callMessage(3, "list_states"));
  const [answer] = await answersTo(program, [3]);
  expect(answer).toMatchObject({ result: { structuredContent: {} } });
});

test("a last line without its end is no message, and does not hold the process", async () => {
  const program = await session();
  program.process.stdin.end(JSON.stringify(callMessage(2, "list_states")));
  expect(await program.exit).toMatchObject({ code: 0 });
});
