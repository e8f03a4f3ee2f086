// Reads the client secret from a file or from another program, so that no client's configuration contains it.
import { spawn } from "node:child_process";
import { constants } from "node:fs";
import { open } from "node:fs/promises";
import type { SecretSource } from "../core/config.ts";
import { withoutMicVariables } from "../core/environment-variables.ts";
import { errorCode, errorMessage, type Failure, notConfigured } from "../core/failure.ts";
import { quote } from "../core/untrusted-text.ts";

/** The program may ask the user for a password, but a call must not wait for it longer than clients do. */
const COMMAND_LIMIT_MS = 20_000;
const MAX_BYTES = 8_192;

const unreadable = (variable: string, reason: string, fix: string): Failure =>
  notConfigured(`The client secret of ${variable} cannot be used: ${reason}.`, `Ask the user to ${fix}.`);

/** Returns the text without one line break at its end. Throws Failure if it cannot be a secret. */
function checkSecret(bytes: Buffer, variable: string): string {
  const text = bytes.toString().replace(/\r?\n$/, "");
  if (/^[\x20-\x7e]+$/.test(text) && bytes.length <= MAX_BYTES) return text;
  throw unreadable(
    variable,
    `it must be one line of 1 to ${MAX_BYTES} printable ASCII characters`,
    `correct ${variable}`,
  );
}

async function readSecretFile(path: string): Promise<string> {
  const variable = "MIC_CLIENT_SECRET_FILE";
  try {
    // Without O_NONBLOCK, a named pipe without a writer would block a thread, and the process could not end.
    const file = await open(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
    try {
      const stats = await file.stat();
      if (!stats.isFile()) throw unreadable(variable, `${quote(path)} is not a file`, `correct ${variable}`);
      if (process.platform !== "win32" && (stats.mode & 0o077) !== 0)
        throw unreadable(variable, `other users can read ${quote(path)}`, `run chmod 600 ${quote(path)}`);
      const { buffer, bytesRead } = await file.read({ buffer: Buffer.alloc(MAX_BYTES + 1) });
      return checkSecret(buffer.subarray(0, bytesRead), variable);
    } finally {
      await file.close();
    }
  } catch (error) {
    if (errorCode(error) === "") throw error;
    throw unreadable(variable, `${quote(path)} cannot be read (${errorCode(error)})`, `correct ${variable}`);
  }
}

/** Runs the program without a shell. Its output is never logged, and not part of any error. */
function runSecretCommand([program = "", ...args]: readonly string[]): Promise<string> {
  const variable = "MIC_CLIENT_SECRET_COMMAND";
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, {
      env: withoutMicVariables(process.env),
      stdio: ["ignore", "pipe", "ignore"],
      windowsHide: true,
    });
    const chunks: Buffer[] = [];
    let bytes = 0;
    function fail(reason: string): void {
      clearTimeout(timer);
      child.kill("SIGKILL");
      // A process that the program started may keep the pipe open.
      child.stdout.destroy();
      reject(
        unreadable(variable, `${quote(program)} ${reason}`, `run the command in a terminal, or correct ${variable}`),
      );
    }
    const timer = setTimeout(() => fail(`did not end within ${COMMAND_LIMIT_MS / 1_000} s`), COMMAND_LIMIT_MS);
    child.stdout.on("data", (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes > MAX_BYTES) fail(`printed more than ${MAX_BYTES} bytes`);
      else chunks.push(chunk);
    });
    child.once("error", (error) => fail(`cannot be started (${errorCode(error) || errorMessage(error)})`));
    child.once("close", (code, signal) => {
      if (code !== 0) return fail(`ended with ${signal ?? `exit code ${code}`}`);
      clearTimeout(timer);
      try {
        resolve(checkSecret(Buffer.concat(chunks), variable));
      } catch (error) {
        reject(error);
      }
    });
  });
}

export const readClientSecret = (source: SecretSource): Promise<string> =>
  "file" in source ? readSecretFile(source.file) : runSecretCommand(source.command);
