// Asks the user on the terminal: questions on stderr, a secret without echo. Reads a secret from a script on stdin.
import { createInterface } from "node:readline";
import { Writable } from "node:stream";
import { UsageError } from "../core/config.ts";

export const isInteractive = (): boolean => process.stdin.isTTY === true && process.stderr.isTTY === true;

export interface Prompter {
  ask(question: string): Promise<string>;
  /** Without echo. */
  askSecret(question: string): Promise<string>;
  /** The user has typed or pasted more than was asked for. */
  hasPendingInput(): boolean;
  close(): void;
}

/** One reader for all questions: input that is typed or pasted ahead is neither lost nor shown. */
export function openPrompter(): Prompter {
  let isEchoing = false;
  let pendingLines = 0;
  const output = new Writable({
    write(chunk, _encoding, done) {
      if (isEchoing) process.stderr.write(chunk);
      done();
    },
  });
  const terminal = createInterface({ input: process.stdin, output, terminal: true, historySize: 0 });
  // Before the next character is processed, which may already belong to the secret.
  terminal.on("line", () => {
    isEchoing = false;
    pendingLines += 1;
  });
  terminal.on("SIGINT", () => terminal.close());
  const lines = terminal[Symbol.asyncIterator]();

  async function readLine(): Promise<string> {
    const line = await lines.next();
    process.stderr.write("\r\n");
    // Ctrl-C, Ctrl-D, or the terminal was closed.
    if (line.done) throw new Error("cancelled; nothing was stored.");
    pendingLines -= 1;
    return line.value.trim();
  }

  return {
    async ask(question) {
      isEchoing = true;
      terminal.setPrompt(question);
      terminal.prompt();
      return await readLine();
    },
    async askSecret(question) {
      process.stderr.write(question);
      return await readLine();
    },
    hasPendingInput: () => pendingLines > 0 || terminal.line !== "",
    close: () => terminal.close(),
  };
}

const MAX_SECRET_BYTES = 8_192;

/** All of stdin, without one line break at its end. Throws UsageError. */
export async function readSecretFromStdin(): Promise<string> {
  let text = "";
  process.stdin.setEncoding("utf8");
  for await (const chunk of process.stdin) {
    text += chunk;
    if (text.length > MAX_SECRET_BYTES) throw new UsageError("What came on stdin is too long for a client secret.");
  }
  return text.replace(/\r?\n$/, "");
}
