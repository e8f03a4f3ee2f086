// Runs the built program on a real terminal of 100 columns, with typed keys and recorded output (script of util-linux).
import { spawn } from "node:child_process";
import { expect, onTestFinished } from "vitest";
import { CODE_CACHE, entryArguments } from "./mcp.ts";
import { missingProgram } from "./process.ts";
import { linuxMissing } from "./unless.ts";

const SCRIPT = "/usr/bin/script";

// The program of macOS has other options.
export const terminalsMissing = linuxMissing ?? missingProgram(SCRIPT);

export const ENTER = "\r";
export const CTRL_C = "\u0003";
export const CTRL_D = "\u0004";
export const CTRL_U = "\u0015";

/** Runs `mic-mcp` on a terminal until the running test ends. `env`: its environment in addition to PATH, TERM, SHELL and XDG_CACHE_HOME. */
export const runOnTerminal = (env: Readonly<Record<string, string>>, args: readonly string[]) =>
  runProgramOnTerminal([...entryArguments(), ...args], env);

/** Runs any program of Node's on a terminal, in `cwd`. */
export function runProgramOnTerminal(args: readonly string[], env: Readonly<Record<string, string>>, cwd?: string) {
  const command = [process.execPath, ...args].map((argument) => `'${argument}'`).join(" ");
  const child = spawn(
    SCRIPT,
    ["--quiet", "--flush", "--return", "--command", `stty cols 100 rows 40; exec ${command}`, "/dev/null"],
    {
      env: { PATH: process.env["PATH"] ?? "", TERM: "xterm", SHELL: "/bin/sh", XDG_CACHE_HOME: CODE_CACHE, ...env },
      cwd,
      stdio: ["pipe", "pipe", "pipe"],
    },
  );
  onTestFinished(() => void child.kill("SIGKILL"));
  let screen = "";
  child.stdout.on("data", (chunk: Buffer) => {
    screen += chunk.toString();
  });
  const exit = new Promise<number | null>((resolve) => child.once("close", resolve));
  const waitForText = (text: string): Promise<void> => expect.poll(() => screen).toContain(text);
  return {
    screen: () => screen,
    exit,
    shows: waitForText,
    type: (keys: string) => void child.stdin.write(keys),
    async answer(question: string, keys: string) {
      await waitForText(question);
      child.stdin.write(keys);
    },
  };
}
