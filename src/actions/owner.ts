// Who holds an action: this process, by a name that tells others on the machine whether it still lives.
import { randomBytes } from "node:crypto";
import { readFileSync, readlinkSync } from "node:fs";
import { hostname } from "node:os";

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
    return error instanceof Error && "code" in error && error.code === "EPERM";
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
  // The same process id again, under another name: its former holder is gone.
  return pid === process.pid || !isAlive(pid);
}
