// Starts, kills and restarts a program for a test, and collects its output.
import { type ChildProcess, type SpawnOptions, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { connect } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";

export const isInstalled = (program: string): boolean => spawnSync("which", [program]).status === 0;

export const missingProgram = (program: string): string | undefined =>
  isInstalled(program) ? undefined : `${program} is not installed`;

export async function waitForExit(child: ChildProcess): Promise<void> {
  if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
}

const MAX_OUTPUT_CHARACTERS = 64 * 1024;

/** Returns the children of a process (Linux only); none if it has ended. */
export function findChildren(pid: number): readonly number[] {
  try {
    const ids = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").match(/\d+/g) ?? [];
    return ids.map(Number);
  } catch {
    return [];
  }
}

/** Starts a program. `isWrapped`: signals go to its child; both processes end together. */
export function launchProcess(
  [program = "", ...args]: readonly string[],
  { isWrapped = false, ...options }: SpawnOptions & { readonly isWrapped?: boolean },
) {
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
  const targetPid = (): number => (isWrapped ? findChildren(pid)[0] : undefined) ?? pid;
  const signal = (name: NodeJS.Signals): void => {
    if (!isRunning()) return;
    // The process may have ended since the check.
    try {
      process.kill(targetPid(), name);
    } catch {}
  };
  return {
    targetPid,
    /** The last 64 Ki characters of its stdout and stderr. */
    output: () => output,
    isRunning,
    signal,
    async kill(name: NodeJS.Signals = "SIGKILL") {
      signal(name);
      if (child.pid !== undefined) await waitForExit(child);
    },
  };
}

export type RunningProcess = ReturnType<typeof launchProcess>;

/** Resolves when the port accepts connections. Rejects with the program's output if it ends before. */
export async function waitForPort(port: number, running: RunningProcess): Promise<void> {
  for (;;) {
    if (!running.isRunning()) throw new Error(`the program has ended: ${running.output()}`);
    const socket = connect(port, "127.0.0.1");
    const isThere = await once(socket, "connect").catch(() => undefined);
    socket.destroy();
    if (isThere) return;
    await sleep(20);
  }
}

/** The peak resident memory of a process in MB (10^6 bytes); 0 if the system does not report it. */
export async function peakMegabytes(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, "utf8").catch(() => "");
  const kilobytes = /^VmHWM:\s+(\d+) kB$/m.exec(status)?.[1];
  return (Number(kilobytes ?? 0) * 1024) / 1_000_000;
}
