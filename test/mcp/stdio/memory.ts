// Measures the memory of a process from outside.
import { existsSync, readFileSync } from "node:fs";
import { expect } from "vitest";
import type { Program } from "./child.ts";

/** The peak is only available in /proc. */
export const peakMissing = !existsSync("/proc/self/status");

/** The peak memory of the process, in bytes. */
export const peakBytes = ({ process }: Program): number => peakOf(process.pid ?? 0);

export function peakOf(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  return Number(/VmHWM:\s+(\d+) kB/.exec(status)?.[1]) * 1024;
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
  await expect.poll(() => heapReports().length, { interval: 20, timeout: 10_000 }).toBe(before + 1);
  return Number(heapReports().at(-1)?.[1]);
}
