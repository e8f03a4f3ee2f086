// Who this process is, by a name from which others on the machine see whether it still lives: it holds actions and partial files.
import { createHash, randomBytes } from "node:crypto";
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
const UNIQUE = randomBytes(8).toString("hex");

/** This process's name as an owner; no two processes ever have the same. */
export const ownName = JSON.stringify([HERE, process.pid, UNIQUE]);

const PLACE = createHash("sha256").update(HERE).digest("hex").slice(0, 8);

/** The same in short, as a part of a file's name. */
export const ownMark = `${PLACE}-${process.pid}-${UNIQUE.slice(0, 8)}`;
/** What marks look like, for a larger pattern. */
export const MARK = "[0-9a-f]{8}-\\d{1,10}-[0-9a-f]{8}";

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

// The same process id again, under another name: its former holder is gone.
const isGoneHere = (pid: number): boolean => pid === process.pid || !isAlive(pid);

/** Certain that this owner is gone. False also where it cannot be known: then its lease has to run out. */
export function isGone(owner: string): boolean {
  if (owner === ownName) return false;
  const [where, pid] = partsOf(owner);
  if (where !== HERE || typeof pid !== "number") return false;
  return isGoneHere(pid);
}

/** The same of a mark; "elsewhere" where it cannot be known. */
export function whereIs(mark: string): "here" | "gone" | "elsewhere" {
  if (mark === ownMark) return "here";
  const [place, pid] = mark.split("-");
  if (place !== PLACE) return "elsewhere";
  return isGoneHere(Number(pid)) ? "gone" : "here";
}
