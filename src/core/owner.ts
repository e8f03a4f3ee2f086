// The name of this process as the owner of actions; other processes on the machine can tell from it whether the process is alive.
import { randomBytes } from "node:crypto";
import { readFileSync, readlinkSync } from "node:fs";
import { hostname } from "node:os";
import { errorCode } from "./failure.ts";

/** Where process ids mean the same: one boot of one machine, and on Linux one process namespace of it. */
function machine(): string {
  try {
    return `${readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim()} ${readlinkSync("/proc/self/ns/pid")}`;
  } catch {
    return hostname();
  }
}

const HERE = machine();
/** This process's name as an owner; no two processes ever have the same. */
export const ownName = JSON.stringify([HERE, process.pid, randomBytes(8).toString("hex")]);

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // Not allowed to signal it: it lives.
    return errorCode(error) === "EPERM";
  }
}

function partsOf(owner: string): unknown[] {
  try {
    const parts: unknown = JSON.parse(owner);
    return Array.isArray(parts) ? parts : [];
  } catch {
    return [];
  }
}

/** Certain that this owner is gone. False also where it cannot be known: then its lease has to run out. */
export function isGone(owner: string): boolean {
  if (owner === ownName) return false;
  const [where, pid] = partsOf(owner);
  if (where !== HERE || typeof pid !== "number") return false;
  // This process id under another name: its former process has ended.
  return pid === process.pid || !isAlive(pid);
}
