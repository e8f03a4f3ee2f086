// Asks the user questions on the terminal (on stderr, a secret without echo), and reads a secret from stdin for scripts.
import { createInterface } from "node:readline";
import { Writable } from "node:stream";
import { UsageError } from "../core/config.ts";

export const isInteractive = (): boolean => process.stdin.isTTY === true && process.stderr.isTTY === true;

export type Prompter = ReturnType<typeof openPrompter>;

/** Uses one reader for all questions, so that input that is typed or pasted ahead is neither lost nor shown. */
export function openPrompter() {
  let isEchoing = false;
  let pendingLines = 0;
  const output = new Writable({
    write(chunk, _encoding, done) {
      if (isEchoing) process.stderr.write(chunk);
      done();
    },
  });
  const terminal = createInterface({ input: process.stdin, output, terminal: true, historySize: 0 });
  // Turns the echo off before the next character is processed, which may already belong to the secret.
  terminal.on("line", () => {
    isEchoing = false;
    pendingLines += 1;
  });
  terminal.on("SIGINT", () => terminal.close());
  const lines = terminal[Symbol.asyncIterator]();

  async function readLine(): Promise<string> {
    const line = await lines.next();
    process.stderr.write("\r\n");
    // The user pressed Ctrl-C or Ctrl-D, or the terminal was closed.
    if (line.done) throw new Error("canceled. Nothing was stored.");
    pendingLines -= 1;
    return line.value.trim();
  }

  return {
    async ask(question: string): Promise<string> {
      isEchoing = true;
      terminal.setPrompt(question);
      terminal.prompt();
      return await readLine();
    },
    async askSecret(question: string): Promise<string> {
      process.stderr.write(question);
      return await readLine();
    },
    hasPendingInput: (): boolean => pendingLines > 0 || terminal.line !== "",
    close: (): void => terminal.close(),
  };
}

const MAX_SECRET_BYTES = 8_192;

/** Returns all of stdin without one trailing line break. Throws UsageError if stdin is too long. */
export async function readSecretFromStdin(): Promise<string> {
  let text = "";
  process.stdin.setEncoding("utf8");
  for await (const chunk of process.stdin) {
    text += chunk;
    if (text.length > MAX_SECRET_BYTES)
      throw new UsageError("The client secret on stdin is too long (maximum 8192 characters).");
  }
  return text.replace(/\r?\n$/, "");
}
