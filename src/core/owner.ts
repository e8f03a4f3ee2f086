// The name of this process as the owner of actions; other processes on the machine can tell from it whether the process is alive.
import { randomBytes } from "node:crypto";
import { readFileSync, readlinkSync } from "node:fs";
import { hostname } from "node:os";
import { errorCode } from "./failure.ts";

/** Where process ids mean the same: one boot of one machine, and on Linux one process namespace of it. */
function identifyMachine(): string {
  try {
    return `${readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim()} ${readlinkSync("/proc/self/ns/pid")}`;
  } catch {
    return hostname();
  }
}

const MACHINE = identifyMachine();
/** This process's name as an owner; no two processes ever have the same. */
export const processOwner = JSON.stringify([MACHINE, process.pid, randomBytes(8).toString("hex")]);

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // Not allowed to signal it: it lives.
    return errorCode(error) === "EPERM";
  }
}

function parseOwner(owner: string): unknown[] {
  try {
    const parts: unknown = JSON.parse(owner);
    return Array.isArray(parts) ? parts : [];
  } catch {
    return [];
  }
}

/** Certain that this owner is gone. False also where it cannot be known: then its lease has to run out. */
export function isOwnerDead(owner: string): boolean {
  if (owner === processOwner) return false;
  const [ownerMachine, pid] = parseOwner(owner);
  if (ownerMachine !== MACHINE || typeof pid !== "number") return false;
  // This process id under another name: its former process has ended.
  return pid === process.pid || !isAlive(pid);
}
