// Reads the client secret from a file or from another program, so that no client's configuration contains it.
import { spawn } from "node:child_process";
import { constants } from "node:fs";
import { open } from "node:fs/promises";
import type { SecretSource } from "../core/config.ts";
import { withoutMicVariables } from "../core/environment-variables.ts";
import { errorCode, errorMessage, type Failure, notConfigured } from "../core/failure.ts";
import { ask, quoted, raw, say, type Text } from "../core/text.ts";

/** The program may ask the user for a password, but a call must not wait for it longer than clients do. */
const COMMAND_LIMIT_MS = 20_000;
const MAX_BYTES = 8_192;

/** `fix`: a sentence without its period (default: to correct the variable). */
const unreadable = (variable: string, reason: Text, fix: Text = say`${ask("Correct")} ${variable}`): Failure =>
  notConfigured(say`The client secret of ${variable} cannot be used: ${reason}.`, say`${fix}.`);

/** Returns the text without one line break at its end. Throws Failure if it cannot be a secret. */
function checkSecret(bytes: Buffer, variable: string): string {
  const text = bytes.toString().replace(/\r?\n$/, "");
  if (/^[\x20-\x7e]+$/.test(text) && bytes.length <= MAX_BYTES) return text;
  throw unreadable(variable, say`it must be one line of 1 to ${MAX_BYTES} printable ASCII characters`);
}

async function readSecretFile(path: string): Promise<string> {
  const variable = "MIC_CLIENT_SECRET_FILE";
  try {
    // Without O_NONBLOCK, a named pipe without a writer would block a thread, and the process could not end.
    const file = await open(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
    try {
      const stats = await file.stat();
      if (!stats.isFile()) throw unreadable(variable, say`${quoted(path)} is not a file`);
      if (process.platform !== "win32" && (stats.mode & 0o077) !== 0)
        throw unreadable(
          variable,
          say`other users can read ${quoted(path)}`,
          say`${ask("Run")} chmod 600 ${quoted(path)}`,
        );
      const { buffer, bytesRead } = await file.read({ buffer: Buffer.alloc(MAX_BYTES + 1) });
      return checkSecret(buffer.subarray(0, bytesRead), variable);
    } finally {
      await file.close();
    }
  } catch (error) {
    if (errorCode(error) === "") throw error;
    throw unreadable(variable, say`${quoted(path)} cannot be read (${errorCode(error)})`);
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
    function fail(reason: Text): void {
      clearTimeout(timer);
      child.kill("SIGKILL");
      // A process that the program started may keep the pipe open.
      child.stdout.destroy();
      reject(
        unreadable(
          variable,
          say`${quoted(program)} ${reason}`,
          say`${ask("Run")} the command in a terminal, or correct ${variable}`,
        ),
      );
    }
    const timer = setTimeout(() => fail(say`did not end within ${COMMAND_LIMIT_MS / 1_000} s`), COMMAND_LIMIT_MS);
    child.stdout.on("data", (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes > MAX_BYTES) fail(say`printed more than ${MAX_BYTES} bytes`);
      else chunks.push(chunk);
    });
    child.once("error", (error) => fail(say`cannot be started (${raw(errorCode(error) || errorMessage(error))})`));
    child.once("close", (code, signal) => {
      if (code !== 0) return fail(say`ended with ${signal ?? say`exit code ${String(code)}`}`);
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
