// A program that a test starts, kills and starts again: its end, and what it said.
import { type ChildProcess, execFileSync, type SpawnOptions, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { connect } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";

/** Whether this machine has the program. */
export function isInstalled(program: string): boolean {
  try {
    execFileSync("which", [program], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
}

export async function waitForExit(child: ChildProcess): Promise<void> {
  if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
}

export interface RunningProcess {
  /** The process that does the work. */
  targetPid(): number;
  /** What it wrote to stdout and stderr, its last 64 KiB. */
  output(): string;
  isRunning(): boolean;
  signal(name: NodeJS.Signals): void;
  /** Gone when it resolves. */
  kill(name?: NodeJS.Signals): Promise<void>;
}

const MAX_OUTPUT_CHARACTERS = 64 * 1024;

/** The first child of a process, as it is of `unshare --fork` (Linux). */
function findFirstChild(pid: number): number | undefined {
  try {
    const [first = ""] = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim().split(" ");
    return first === "" ? undefined : Number(first);
  } catch {
    return undefined;
  }
}

/** `isWrapped`: signals go to its child, which ends with it and it with its child. */
export function launchProcess(
  [program = "", ...args]: readonly string[],
  { isWrapped = false, ...options }: SpawnOptions & { readonly isWrapped?: boolean },
): RunningProcess {
  const child = spawn(program, args, { stdio: ["ignore", "pipe", "pipe"], ...options });
  let output = "";
  for (const stream of [child.stdout, child.stderr])
    stream?.on("data", (chunk: Buffer) => {
      output = (output + chunk.toString()).slice(-MAX_OUTPUT_CHARACTERS);
    });
  child.on("error", (error) => {
    output += error.message;
  });
  const pid = child.pid ?? 0;
  const isRunning = (): boolean => child.pid !== undefined && child.exitCode === null && child.signalCode === null;
  const targetPid = (): number => (isWrapped ? findFirstChild(pid) : undefined) ?? pid;
  const signal = (name: NodeJS.Signals): void => {
    if (!isRunning()) return;
    // Between two looks it may have gone.
    try {
      process.kill(targetPid(), name);
    } catch {}
  };
  return {
    targetPid,
    output: () => output,
    isRunning,
    signal,
    async kill(name = "SIGKILL") {
      signal(name);
      if (child.pid !== undefined) await waitForExit(child);
    },
  };
}

/** Resolves once somebody listens on the port; rejects, with what the program said, where it ends before. */
export async function waitForPort(port: number, running: RunningProcess): Promise<void> {
  for (;;) {
    if (!running.isRunning()) throw new Error(`the program has ended: ${running.output()}`);
    const socket = connect(port, "127.0.0.1");
    const isThere = await new Promise<boolean>((resolve) => {
      socket.once("connect", () => resolve(true));
      socket.once("error", () => resolve(false));
    });
    socket.destroy();
    if (isThere) return;
    await sleep(20);
  }
}
