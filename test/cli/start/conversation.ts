// A conversation with the program, line by line.
import { expect } from "vitest";
import type { Program } from "../../mcp/stdio/child.ts";

export interface Message {
  readonly method: string;
  readonly params?: object;
}

/** All that it says to these messages, to its end. */
export async function conversation(program: Program, messages: readonly Message[]): Promise<string> {
  for (const [id, message] of messages.entries()) {
    const isNotification = message.method.startsWith("notifications/");
    program.send({ jsonrpc: "2.0", ...(!isNotification && { id }), ...message });
    if (!isNotification) await program.next();
  }
  program.process.stdin.end();
  expect(await program.exit).toEqual({ code: 0, signal: null });
  return program.stdout();
}
