// Runs a client's program as on a new machine, with an empty HOME and with access only to this machine, and defines tests of it.

import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { text } from "node:stream/consumers";
import { type TestOptions, test } from "vitest";

/** Nothing listens on port 9 ("discard"), so a request to another machine is refused immediately. */
export const NO_NETWORK = {
  HTTP_PROXY: "http://127.0.0.1:9",
  HTTPS_PROXY: "http://127.0.0.1:9",
  NO_PROXY: "127.0.0.1,localhost",
  CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
};

export const cleanEnvironment = (home: string) => ({ PATH: process.env["PATH"] ?? "", HOME: home });

export function launch(home: string, args: readonly string[], more: object = NO_NETWORK) {
  return spawn(process.execPath, [...args], { cwd: home, env: { ...cleanEnvironment(home), ...more }, stdio: "pipe" });
}

export interface CommandResult {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

async function waitForExit(child: ChildProcessWithoutNullStreams): Promise<CommandResult> {
  child.stdin.end();
  const closed = new Promise<number | null>((resolve) => child.once("close", resolve));
  const [stdout, stderr, code] = await Promise.all([text(child.stdout), text(child.stderr), closed]);
  return { code, stdout, stderr };
}

export const run = (home: string, ...args: readonly string[]): Promise<CommandResult> =>
  waitForExit(launch(home, args));

/** Like `run`, for a client that sends requests only to the server, which it could not reach through a proxy. */
export const runUnproxied = (home: string, ...args: readonly string[]): Promise<CommandResult> =>
  waitForExit(launch(home, args, {}));

/** Runs a command in `home`, without access to other machines. */
export const runCommand = (
  home: string,
  [program, ...args]: readonly [string, ...string[]],
  environment: Readonly<Record<string, string>>,
): Promise<CommandResult> =>
  waitForExit(spawn(program, args, { cwd: home, env: { ...cleanEnvironment(home), ...NO_NETWORK, ...environment } }));

export const testUnless = (
  reason: string | undefined,
  title: string,
  options: TestOptions,
  body: () => Promise<void>,
) => test.skipIf(reason !== undefined)(reason === undefined ? title : `${title} (skipped: ${reason})`, options, body);
