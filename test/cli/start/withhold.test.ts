// What is withheld from a stream, and that nothing else is: whatever the parts in which it is written.
import { once } from "node:events";
import { PassThrough } from "node:stream";
import { text } from "node:stream/consumers";
import { expect, test } from "vitest";
import { idOfOurs, withhold } from "../../../src/cli/start/withhold.ts";

const answer = (id: unknown, result: object = {}) => JSON.stringify({ result, jsonrpc: "2.0", id });
const ours = [idOfOurs(0), idOfOurs(1)];
const kept = [
  answer(1, { said: idOfOurs(0) }),
  answer(2),
  JSON.stringify({ jsonrpc: "2.0", method: "notifications/message", params: { id: idOfOurs(0) } }),
];
const lines = [kept[0], answer(ours[0], { long: "x".repeat(50_000) }), kept[1], answer(ours[1]), kept[2]];

test.each([
  ["each line in one piece", lines.map((line) => `${line}\n`)],
  ["each end for itself", lines.flatMap((line) => [`${line}`, "\n"])],
  ["all at once", [lines.map((line) => `${line}\n`).join("")]],
])("%s", async (_, pieces) => {
  const stream = new PassThrough();
  const { write } = stream;
  const coming = text(stream);
  withhold(stream, ours);
  for (const piece of pieces) await new Promise<void>((resolve) => stream.write(piece, () => resolve()));
  expect(stream.write).toBe(write);
  stream.write(`${answer(ours[0])}\n`);
  stream.end();
  expect(await coming).toBe([...kept, answer(ours[0])].map((line) => `${line}\n`).join(""));
});

test("an error under such an id is withheld as well, bytes like text", async () => {
  const stream = new PassThrough();
  const coming = text(stream);
  withhold(stream, [idOfOurs(0)]);
  stream.write(
    Buffer.from(`${JSON.stringify({ jsonrpc: "2.0", id: idOfOurs(0), error: { code: 1, message: "x" } })}\n`),
  );
  stream.end("kept\n");
  expect(await coming).toBe("kept\n");
});

test("a writer hears that the stream is full, though its own line was not written", async () => {
  const stream = new PassThrough({ highWaterMark: 10 });
  withhold(stream, [idOfOurs(0)]);
  expect(stream.write(`${answer(1)}\n`)).toBe(false);
  expect(stream.write(`${answer(idOfOurs(0))}\n`)).toBe(false);
  stream.resume();
  await once(stream, "drain");
  expect(stream.write("x\n")).toBe(true);
});
