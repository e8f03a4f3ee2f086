// A program of the trials in a process of its own.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createRequire } from "node:module";
import { createInterface } from "node:readline";
import { fileURLToPath, pathToFileURL } from "node:url";

const tsx = pathToFileURL(createRequire(import.meta.url).resolve("tsx")).href;

export interface Running {
  readonly child: ChildProcess;
  /** The next line that it writes, as JSON; undefined once it has ended. */
  heard(): Promise<unknown>;
  say(order: object): void;
  /** Gone when it resolves. */
  kill(): Promise<void>;
}

/** `file`: beside this one. */
export function startProgram(file: string, task: object): Running {
  const args = ["--import", tsx, fileURLToPath(new URL(file, import.meta.url)), JSON.stringify(task)];
  const child = spawn(process.execPath, args, { stdio: ["pipe", "pipe", "inherit"] });
  child.stdin.on("error", () => undefined);
  const gone = once(child, "exit");
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
  return {
    child,
    async heard() {
      const { value, done } = await lines.next();
      return done ? undefined : JSON.parse(value);
    },
    say: (order) => void child.stdin.write(`${JSON.stringify(order)}\n`),
    async kill() {
      child.kill("SIGKILL");
      await gone;
    },
  };
}
