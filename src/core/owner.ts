// This module names this process as an owner of actions. Other processes on the machine can check by that name whether it is alive.
import { randomBytes } from "node:crypto";
import { readFileSync, readlinkSync } from "node:fs";
import { hostname } from "node:os";
import { parseJson } from "../contract/json.ts";
import { errorCode } from "./failure.ts";

/** Identifies the scope in which process ids are unique: on Linux a boot and a process namespace, elsewhere the host. */
function identifyMachine(): string {
  try {
    return `${readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim()} ${readlinkSync("/proc/self/ns/pid")}`;
  } catch {
    return hostname();
  }
}

const MACHINE = identifyMachine();
/** The name of this process as an owner. No other process ever has the same name. */
export const processOwner = JSON.stringify([MACHINE, process.pid, randomBytes(8).toString("hex")]);

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // EPERM: the process exists, but this one has no permission to signal it.
    return errorCode(error) === "EPERM";
  }
}

function parseOwner(owner: string): unknown[] {
  const parts = parseJson(owner);
  return Array.isArray(parts) ? parts : [];
}

/** True if this owner is certainly dead. False if that cannot be determined; then its lease must expire. */
export function isOwnerDead(owner: string): boolean {
  if (owner === processOwner) return false;
  const [ownerMachine, pid] = parseOwner(owner);
  if (ownerMachine !== MACHINE || typeof pid !== "number") return false;
  // An owner with the id of this process and another name was an earlier process, which has ended.
  return pid === process.pid || !isAlive(pid);
}
