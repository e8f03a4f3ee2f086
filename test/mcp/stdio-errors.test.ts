// Tests internal errors while a message is received: that message is refused, and the next one is processed.
import { PassThrough } from "node:stream";
import type { JSONRPCMessage } from "@modelcontextprotocol/server";
import { expect, test } from "vitest";
import { StdioTransport } from "../../src/transports/stdio/transport.ts";

const toLine = (message: object): string => `${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`;

async function startTransport() {
  const [stdin, stdout] = [new PassThrough(), new PassThrough()];
  const transport = new StdioTransport(stdin, stdout, (json) => json, {
    inbound(message, pass) {
      pass(message);
      return undefined;
    },
    outbound: (message) => message,
  });
  const received: JSONRPCMessage[] = [];
  const errors: string[] = [];
  transport.onmessage = (message) => {
    if ("params" in message && message.params?.["bad"] === true)
      throw new RangeError("Maximum call stack size exceeded");
    received.push(message);
  };
  transport.onerror = ({ message }) => errors.push(message);
  await transport.start();
  let written = "";
  stdout.on("data", (chunk: Buffer) => {
    written += chunk;
  });
  const answers = (): unknown[] =>
    written
      .split("\n")
      .slice(0, -1)
      .map((text) => JSON.parse(text));
  return { stdin, received, errors, answers };
}

test("a request that causes an internal error is refused under its id, which is then free again", async () => {
  const { stdin, received, errors, answers } = await startTransport();
  stdin.write(toLine({ id: 1, method: "tools/call", params: { bad: true } }));
  stdin.write(toLine({ id: 1, method: "tools/call", params: {} }));
  await expect.poll(() => received).toHaveLength(1);
  await expect.poll(answers).toEqual([{ jsonrpc: "2.0", id: 1, error: { code: -32603, message: expect.any(String) } }]);
  expect(errors).toHaveLength(1);
});

test("a notification that causes an internal error is dropped, and a batch loses only the failing message", async () => {
  const { stdin, received, answers } = await startTransport();
  stdin.write(toLine({ method: "notifications/message", params: { bad: true } }));
  const batch = [
    { jsonrpc: "2.0", id: 1, method: "ping" },
    { jsonrpc: "2.0", id: 2, method: "ping", params: { bad: true } },
    { jsonrpc: "2.0", id: 3, method: "ping" },
  ];
  stdin.write(`${JSON.stringify(batch)}\n`);
  await expect.poll(() => received).toHaveLength(2);
  await expect.poll(answers).toMatchObject([{ id: 2, error: { code: -32603 } }]);
});
