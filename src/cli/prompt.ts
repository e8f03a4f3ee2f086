// Asking a person on the terminal: questions on stderr, a secret without echo; and secrets from a script on stdin.
import { createInterface } from "node:readline/promises";
import { Writable } from "node:stream";

export const isInteractive = (): boolean => process.stdin.isTTY === true && process.stderr.isTTY === true;

async function question(text: string, output: Writable): Promise<string> {
  const terminal = createInterface({ input: process.stdin, output, terminal: true });
  try {
    return (await terminal.question(text)).trim();
  } finally {
    terminal.close();
  }
}

export const ask = (text: string): Promise<string> => question(text, process.stderr);

/** What is typed does not appear. */
export async function askSecret(text: string): Promise<string> {
  process.stderr.write(text);
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() });
  try {
    return await question("", nowhere);
  } finally {
    process.stderr.write("\n");
  }
}

const MAX_SECRET_BYTES = 8_192;

/** All of stdin, one line break at its end left off. */
export async function readSecretFromStdin(): Promise<string> {
  let text = "";
  process.stdin.setEncoding("utf8");
  for await (const chunk of process.stdin) {
    text += chunk;
    if (text.length > MAX_SECRET_BYTES) break;
  }
  return text.replace(/\r?\n$/, "");
}
