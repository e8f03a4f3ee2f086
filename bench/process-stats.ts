// What the kernel says of a process: CPU time and memory. Linux only; elsewhere these cells stay empty.
import { readFileSync } from "node:fs";

/** Clock ticks of /proc are 10 ms on every Linux that Node runs on. */
const TICK_MS = 10;

function readProcFile(pid: number, file: string): string | undefined {
  try {
    return readFileSync(`/proc/${pid}/${file}`, "utf8");
  } catch {
    return undefined;
  }
}

/** User and system time so far, in milliseconds. */
export function readCpuMs(pid: number): number | undefined {
  // The command name in parentheses may hold spaces.
  const fields = readProcFile(pid, "stat")?.split(") ")[1]?.split(" ");
  if (!fields) return undefined;
  return (Number(fields[11]) + Number(fields[12])) * TICK_MS;
}

export function readMemoryMiB(pid: number, which: "VmRSS" | "VmHWM"): number | undefined {
  const kilobytes = new RegExp(`^${which}:\\s+(\\d+) kB`, "m").exec(readProcFile(pid, "status") ?? "")?.[1];
  return kilobytes === undefined ? undefined : Number(kilobytes) / 1024;
}
