// Reads a process's CPU time and memory from the kernel. Linux only; on other systems these cells stay empty.
import { readFileSync } from "node:fs";

/** A clock tick in /proc is 10 ms on every Linux that Node supports. */
const TICK_MS = 10;

function readProcFile(pid: number, file: string): string | undefined {
  try {
    return readFileSync(`/proc/${pid}/${file}`, "utf8");
  } catch {
    return undefined;
  }
}

/** Returns the sum of `count` times in the process's statistics: user, system, and the same of ended children. */
function sumTimesMs(pid: number, count: number): number | undefined {
  // The command name in parentheses may contain spaces.
  const fields = readProcFile(pid, "stat")?.split(") ")[1]?.split(" ");
  return fields?.slice(11, 11 + count).reduce((sum, ticks) => sum + Number(ticks) * TICK_MS, 0);
}

/** User and system time since the process started, in milliseconds. */
export const readCpuMs = (pid: number): number | undefined => sumTimesMs(pid, 2);

/** The same of a process and all its children, including those that have ended. */
export function readTreeCpuMs(pid: number): number {
  const children = readProcFile(pid, `task/${pid}/children`)?.trim().split(" ").map(Number) ?? [];
  return [sumTimesMs(pid, 4), ...children.map(readCpuMs)].reduce<number>((sum, ms) => sum + (ms ?? 0), 0);
}

export function readMemoryMiB(pid: number, which: "VmRSS" | "VmHWM" | "RssAnon"): number | undefined {
  const kilobytes = new RegExp(`^${which}:\\s+(\\d+) kB`, "m").exec(readProcFile(pid, "status") ?? "")?.[1];
  return kilobytes === undefined ? undefined : Number(kilobytes) / 1024;
}
