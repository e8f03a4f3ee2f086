// A conversation with the program, line by line.
import { createInterface } from "node:readline";
import { expect, onTestFinished } from "vitest";
import type { Program } from "../../mcp/stdio/child.ts";
import { lineInside } from "../../support/server.ts";

export interface Message {
  readonly method: string;
  readonly params?: object;
}

/** Sends each when the one before has its answer. */
export async function converse(
  messages: readonly Message[],
  send: (message: object) => void,
  next: () => Promise<unknown>,
): Promise<void> {
  for (const [id, message] of messages.entries()) {
    const isNotification = message.method.startsWith("notifications/");
    send({ jsonrpc: "2.0", ...(!isNotification && { id }), ...message });
    if (!isNotification) await next();
  }
}

/** All that it says to these messages, to its end. */
export async function conversation(program: Program, messages: readonly Message[]): Promise<string> {
  await converse(messages, program.send, program.next);
  program.process.stdin.end();
  expect(await program.exit).toEqual({ code: 0, signal: null });
  return program.stdout();
}

/** What the server itself says, with nobody before it. */
export async function toldByServer(
  env: Readonly<Record<string, string>>,
  messages: readonly Message[],
): Promise<string> {
  const { send, answers, end } = lineInside(env);
  onTestFinished(end);
  const lines = createInterface(answers)[Symbol.asyncIterator]();
  let said = "";
  await converse(messages, send, async () => {
    said += `${(await lines.next()).value}\n`;
  });
  return said;
}
