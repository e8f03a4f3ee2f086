// A program of the trials, built once and run in processes of its own.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

export interface Running {
  readonly child: ChildProcess;
  /** The next line that it writes, as JSON; undefined once it has ended. */
  heard(): Promise<unknown>;
  say(order: object): void;
  /** Gone when it resolves. */
  kill(): Promise<void>;
}

/** `file`: beside this one. */
export async function programOf(file: string): Promise<(task: object) => Running> {
  const { outputFiles } = await build({
    entryPoints: [fileURLToPath(new URL(file, import.meta.url))],
    bundle: true,
    write: false,
    platform: "node",
    format: "esm",
    packages: "external",
  });
  const text = outputFiles[0]?.text ?? "";
  return (task) => {
    const args = ["--input-type=module", "-e", text, JSON.stringify(task)];
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
  };
}
