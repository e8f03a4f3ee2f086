// How much memory a process takes, seen from outside.
import { existsSync, readFileSync } from "node:fs";
import { expect } from "vitest";
import type { Program } from "./child.ts";

/** The peak is in /proc alone. */
export const peakMissing = !existsSync("/proc/self/status");

/** The most that the process ever held in memory. */
export const peakBytes = ({ process }: Program): number => peakOf(process.pid ?? 0);

export function peakOf(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  return Number(/VmHWM:\s+(\d+) kB/.exec(status)?.[1]) * 1024;
}

/** node's arguments for a program that dies when it holds 64 MB: a third of that is what it needs at rest. */
export const smallHeap: readonly string[] = ["--max-old-space-size=64"];

/** node's arguments for a program that tells of its heap on SIGUSR2, garbage taken out. */
export const reportsHeap: readonly string[] = [
  "--expose-gc",
  "--import",
  `data:text/javascript,${encodeURIComponent(
    `process.on("SIGUSR2",()=>{gc();gc();process.stderr.write("heap "+process.memoryUsage().heapUsed+"\\n")})`,
  )}`,
];

/** What the heap holds for good; of a program started with `tellsOfItsHeap`. */
export async function heapBytes(program: Program): Promise<number> {
  const heapReports = () => [...program.stderr().matchAll(/^heap (\d+)$/gm)];
  const before = heapReports().length;
  program.process.kill("SIGUSR2");
  await expect.poll(() => heapReports().length, { interval: 20, timeout: 10_000 }).toBe(before + 1);
  return Number(heapReports().at(-1)?.[1]);
}
