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

/** User and system time since the process started, in milliseconds. */
export function readCpuMs(pid: number): number | undefined {
  // The command name in parentheses may contain spaces.
  const fields = readProcFile(pid, "stat")?.split(") ")[1]?.split(" ");
  if (!fields) return undefined;
  return (Number(fields[11]) + Number(fields[12])) * TICK_MS;
}

export function readMemoryMiB(pid: number, which: "VmRSS" | "VmHWM"): number | undefined {
  const kilobytes = new RegExp(`^${which}:\\s+(\\d+) kB`, "m").exec(readProcFile(pid, "status") ?? "")?.[1];
  return kilobytes === undefined ? undefined : Number(kilobytes) / 1024;
}
