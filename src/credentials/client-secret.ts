// Reads the client secret from a file or from another program, so that no client's configuration contains it.
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import * as z from "zod/v4";
import type { SecretSource } from "../core/config.ts";
import { withoutMicVariables } from "../core/environment-variables.ts";
import { errorCode, type Failure, notConfigured } from "../core/failure.ts";
import { readPrivateFile } from "../core/private-file.ts";
import { ask, quoted, raw, say, type Text } from "../core/text.ts";

/** The program may ask the user for a password, but a call must not wait for it longer than clients do. */
const COMMAND_LIMIT_MS = 20_000;
const MAX_BYTES = 8_192;
/** Also a limit of the program's messages, which are discarded. */
const MAX_OUTPUT_BYTES = 1_048_576;
const execute = promisify(execFile);

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
  const content = await readPrivateFile(path, MAX_BYTES + 1).catch((error: unknown) => {
    throw unreadable(variable, say`${quoted(path)} cannot be read (${errorCode(error)})`);
  });
  if (content === "not a file") throw unreadable(variable, say`${quoted(path)} is not a file`);
  if (content === "readable by others")
    throw unreadable(variable, say`other users can read ${quoted(path)}`, say`${ask("Run")} chmod 600 ${quoted(path)}`);
  return checkSecret(content, variable);
}

const ExitError = z.object({
  code: z.union([z.number(), z.string()]).nullish(),
  signal: z.string().nullish(),
  killed: z.boolean().optional(),
});

/** Completes "the program …" with the reason for which it returned no secret. */
function describeExit(error: unknown): Text {
  const { code, signal, killed } = ExitError.parse(error);
  if (code === "ERR_CHILD_PROCESS_STDIO_MAXBUFFER") return say`printed more than ${MAX_OUTPUT_BYTES} bytes`;
  if (killed) return say`did not end within ${COMMAND_LIMIT_MS / 1_000} s`;
  if (typeof code === "string") return say`cannot be started (${raw(code)})`;
  return say`ended with ${signal ?? say`exit code ${String(code)}`}`;
}

/** Runs the program without a shell. Its output is never logged, and not part of any error. */
async function runSecretCommand([program = "", ...args]: readonly string[]): Promise<string> {
  const variable = "MIC_CLIENT_SECRET_COMMAND";
  const running = execute(program, args, {
    env: withoutMicVariables(process.env),
    encoding: "buffer",
    maxBuffer: MAX_OUTPUT_BYTES,
    timeout: COMMAND_LIMIT_MS,
    killSignal: "SIGKILL",
    windowsHide: true,
  });
  running.child.stdin?.end();
  const { stdout } = await running.catch((error: unknown) => {
    const fix = say`${ask("Run")} the command in a terminal, or correct ${variable}`;
    throw unreadable(variable, say`${quoted(program)} ${describeExit(error)}`, fix);
  });
  return checkSecret(stdout, variable);
}

export const readClientSecret = (source: SecretSource): Promise<string> =>
  "file" in source ? readSecretFile(source.file) : runSecretCommand(source.command);
