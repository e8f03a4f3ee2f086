// Tests internal errors while a message is received: that message is refused, and the next one is processed.
import { PassThrough } from "node:stream";
import type { JSONRPCMessage } from "@modelcontextprotocol/server";
import { expect, test } from "vitest";
import { StdioTransport } from "../../src/transports/stdio/transport.ts";

test("a request that causes an internal error is refused under its id, and a batch loses only the failing message", async () => {
  const [stdin, stdout] = [new PassThrough(), new PassThrough()];
  const transport = new StdioTransport(stdin, stdout, (json) => json, {
    inbound: (message, pass) => void pass(message),
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
  const send = (message: object) => stdin.write(`${JSON.stringify(message)}\n`);
  const ping = (id: number, bad: boolean) => ({ jsonrpc: "2.0", id, method: "ping", params: { bad } });
  const refusal = (id: number) => ({ jsonrpc: "2.0", id, error: { code: -32603, message: expect.any(String) } });

  send(ping(1, true));
  // The id is free again, and a notification has no answer.
  send(ping(1, false));
  send({ jsonrpc: "2.0", method: "notifications/message", params: { bad: true } });
  send([ping(2, false), ping(3, true), ping(4, false)]);
  await expect.poll(() => received).toMatchObject([{ id: 1 }, { id: 2 }, { id: 4 }]);
  expect(errors).toHaveLength(3);
  stdout.end();
  const lines = String(Buffer.concat(await stdout.toArray()))
    .trimEnd()
    .split("\n");
  expect(lines.map((line) => JSON.parse(line))).toEqual([refusal(1), refusal(3)]);
});
