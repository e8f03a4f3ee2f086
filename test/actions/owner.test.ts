// Who is gone for certain: only where process ids mean the same as here, and only a process that no longer lives.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { expect, onTestFinished, test } from "vitest";
import { isOwnerDead, processOwner } from "../../src/core/owner.ts";

const [here, pid, mark]: unknown[] = JSON.parse(processOwner);
const ownerNameFor = (host: unknown, processId: unknown): string =>
  JSON.stringify([host, processId, "0123456789abcdef"]);

async function startProcess(): Promise<{ pid: number; kill(): Promise<void> }> {
  const child = spawn("sleep", ["60"]);
  await once(child, "spawn");
  const kill = async (): Promise<void> => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const exited = once(child, "exit");
    child.kill("SIGKILL");
    await exited;
  };
  onTestFinished(kill);
  return { pid: child.pid ?? 0, kill };
}

test("this process is there", () => {
  expect(pid).toBe(process.pid);
  expect(mark).toMatch(/^[0-9a-f]{16}$/);
  expect(isOwnerDead(processOwner)).toBe(false);
});

test("a process is gone once it has ended", async () => {
  const other = await startProcess();
  expect(isOwnerDead(ownerNameFor(here, other.pid))).toBe(false);
  await other.kill();
  expect(isOwnerDead(ownerNameFor(here, other.pid))).toBe(true);
});

test("a former process with our own id is gone: its id was used again", () => {
  expect(isOwnerDead(ownerNameFor(here, process.pid))).toBe(true);
});

test("of another boot, machine or process namespace nothing is known", async () => {
  const other = await startProcess();
  await other.kill();
  for (const host of ["another boot", "", null]) expect(isOwnerDead(ownerNameFor(host, other.pid))).toBe(false);
});

test.each(["{}", "null", '"text"', "[]", '["x"]', "[1,2,3]", "not JSON", ""])(
  "a name that is none of ours is left alone: %s",
  (name) => {
    expect(isOwnerDead(name)).toBe(false);
  },
);
