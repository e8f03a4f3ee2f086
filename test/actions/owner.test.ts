// Tests which owners count as dead: only processes of the same boot, machine and process namespace that no longer live.
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

test("this process is alive", () => {
  expect(pid).toBe(process.pid);
  expect(mark).toMatch(/^[0-9a-f]{16}$/);
  expect(isOwnerDead(processOwner)).toBe(false);
});

test("a process is dead once it has ended", async () => {
  const other = await startProcess();
  expect(isOwnerDead(ownerNameFor(here, other.pid))).toBe(false);
  await other.kill();
  expect(isOwnerDead(ownerNameFor(here, other.pid))).toBe(true);
});

test("a former process with our own id is dead, because its id was reused", () => {
  expect(isOwnerDead(ownerNameFor(here, process.pid))).toBe(true);
});

test("an owner of another boot, machine or process namespace does not count as dead", async () => {
  const other = await startProcess();
  await other.kill();
  for (const host of ["another boot", "", null]) expect(isOwnerDead(ownerNameFor(host, other.pid))).toBe(false);
});

test.each(["{}", "null", '"text"', "[]", '["x"]', "[1,2,3]", "not JSON", ""])(
  "an unrecognized owner name does not count as dead: %s",
  (name) => {
    expect(isOwnerDead(name)).toBe(false);
  },
);
