// Measures the memory and the CPU time of a process from outside.
import { existsSync, readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { expect } from "vitest";
import type { Program } from "./child.ts";

/** The peak is only available in /proc. */
export const peakMissing = !existsSync("/proc/self/status");

export function peakOf(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  return Number(/VmHWM:\s+(\d+) kB/.exec(status)?.[1]) * 1024;
}

const TICK_MS = 10;

/** CPU time of the process's main thread in milliseconds. Unlike elapsed time, it does not depend on other processes. */
function mainThreadMs(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/task/${pid}/stat`, "utf8");
  const [utime, stime] = stat
    .slice(stat.lastIndexOf(")") + 2)
    .split(" ")
    .slice(11, 13)
    .map(Number);
  return ((utime ?? 0) + (stime ?? 0)) * TICK_MS;
}

/** The longest time in milliseconds that the event loop may be blocked (issue 26, section 5). */
export const MAX_BLOCKED_MS = 250;

/** Sends pings until `task` ends. Returns the longest CPU time of the main thread between a ping and its answer, in milliseconds. */
export async function longestBlockedMs(
  { pid, request }: { readonly pid: number; request(method: string, params: object): Promise<unknown> },
  task: Promise<unknown>,
): Promise<number> {
  let isOver = false;
  const over = task.finally(() => {
    isOver = true;
  });
  let longestMs = 0;
  while (!isOver) {
    const before = peakMissing ? 0 : mainThreadMs(pid);
    await request("ping", {});
    if (!peakMissing) longestMs = Math.max(longestMs, mainThreadMs(pid) - before);
    await Promise.race([sleep(5), over]);
  }
  await over;
  return longestMs;
}

/** Arguments of node for a program that dies if its heap exceeds 64 MB; an idle server needs a third of that. */
export const smallHeap: readonly string[] = ["--max-old-space-size=64"];

/** Arguments of node for a program that collects garbage and reports the size of its heap on SIGUSR2. */
export const reportsHeap: readonly string[] = [
  "--expose-gc",
  "--import",
  `data:text/javascript,${encodeURIComponent(
    `process.on("SIGUSR2",()=>{gc();gc();process.stderr.write("heap "+process.memoryUsage().heapUsed+"\\n")})`,
  )}`,
];

/** Bytes on the heap after a garbage collection, for a program that was started with `reportsHeap`. */
export async function heapBytes(program: Program): Promise<number> {
  const heapReports = () => [...program.stderr().matchAll(/^heap (\d+)$/gm)];
  const before = heapReports().length;
  program.process.kill("SIGUSR2");
  await expect.poll(() => heapReports().length, { interval: 20 }).toBe(before + 1);
  return Number(heapReports().at(-1)?.[1]);
}
