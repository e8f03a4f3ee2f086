// Tests claims: lease expiry by this process's clock, the actions in flight, and which owners count as dead.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { expect, onTestFinished, test, vi } from "vitest";
import { createLateWrites, createLeaseMonitor, LEASE_MS } from "../../src/actions/claims.ts";
import type { Journal, StoredAction } from "../../src/actions/journal.ts";
import { isOwnerDead, processOwner } from "../../src/core/owner.ts";
import { createLatch } from "../support/latch.ts";
import { storedAction } from "./samples.ts";
import { type CallOutcome, openWorkerFixture } from "./workers.ts";

// Long past or far ahead: the clock of the other machine may be wrong by years.
const stored = storedAction({ owner: "another", lease_until: 1 });

function createLeaseWatch() {
  const time = { nowMs: 0 };
  const { isExpired } = createLeaseMonitor(() => time.nowMs);
  /** Looks `ms` milliseconds after the previous look. */
  return (ms: number, facts: Partial<StoredAction> = {}): boolean => {
    time.nowMs += ms;
    return isExpired({ ...stored, ...facts });
  };
}

test("a lease expires after 30 s without renewal, and never at its first observation", () => {
  for (const lease_until of [0, Number.MAX_SAFE_INTEGER]) {
    const isExpiredAfter = createLeaseWatch();
    expect(isExpiredAfter(1_000_000, { lease_until })).toBe(false);
    expect(isExpiredAfter(29_999, { lease_until })).toBe(false);
    expect(isExpiredAfter(1, { lease_until })).toBe(true);
  }
});

test("a renewed lease is not expired, and neither is the lease of another owner or action", () => {
  const isExpiredAfter = createLeaseWatch();
  isExpiredAfter(0);
  expect(isExpiredAfter(30_000, { lease_until: 2 })).toBe(false);
  expect(isExpiredAfter(29_999, { lease_until: 2 })).toBe(false);
  expect(isExpiredAfter(30_000, { lease_until: 2, owner: "a third" })).toBe(false);
  expect(isExpiredAfter(30_000, { lease_until: 2, key: "key-0001" })).toBe(false);
  expect(isExpiredAfter(30_000, { lease_until: 2, owner: "a third" })).toBe(true);
});

test("the watch keeps the latest 1,000 leases", () => {
  const isExpiredAfter = createLeaseWatch();
  for (let n = 0; n < 1_001; n++) isExpiredAfter(0, { key: `key-${n}` });
  expect(isExpiredAfter(30_000, { key: "key-1" })).toBe(true);
  expect(isExpiredAfter(0, { key: "key-0" }), "looked at as if for the first time").toBe(false);
});

const keyOf = (outcome: CallOutcome): string =>
  "result" in outcome ? outcome.result.idempotencyKey : JSON.stringify(outcome.facts);

test("an action in flight in one action machine is not taken over by another, and one heartbeat renews all leases", async () => {
  const fixture = await openWorkerFixture();
  let shared: Journal | undefined;
  const first = await fixture.startWorker("first", (journal) => (shared = journal));
  const second = await fixture.startWorker("second", (journal) => shared ?? journal);
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
  onTestFinished(() => void vi.useRealTimers());
  const { released, release } = createLatch();
  const answer = () => released.then(() => "made");
  const one = first.call({ answer });
  const other = second.call({ arguments: { recipeVersionId: "recipe-2" }, key: "another-action", answer });
  await expect.poll(() => fixture.sent.length).toBe(2);
  const same = second.call({ answer });
  await Promise.race([fixture.waitForSleeps(3), same]);
  expect(vi.getTimerCount(), "one heartbeat").toBe(1);
  vi.advanceTimersByTime(10_000);
  await expect
    .poll(async () => (await fixture.find("another-action"))?.lease_until)
    .toBeGreaterThan(1_800_000_000_000 + LEASE_MS);
  release();
  expect(keyOf(await same)).toBe(keyOf(await one));
  await other;
  expect(fixture.sent).toHaveLength(2);
  vi.advanceTimersByTime(20_000);
  expect(vi.getTimerCount()).toBe(0);
});

const [here]: unknown[] = JSON.parse(processOwner);
const ownerNameFor = (host: unknown, processId: unknown): string =>
  JSON.stringify([host, processId, "0123456789abcdef"]);

test("an owner is dead once its process has ended, except on another boot, machine or process namespace", async () => {
  const child = spawn(process.execPath, ["-e", "setTimeout(() => 0, 60000)"]);
  await once(child, "spawn");
  onTestFinished(() => void child.kill("SIGKILL"));
  const { pid } = child;
  expect(isOwnerDead(ownerNameFor(here, pid))).toBe(false);
  child.kill("SIGKILL");
  await once(child, "exit");
  expect(isOwnerDead(ownerNameFor(here, pid))).toBe(true);
  for (const host of ["another boot", "", null]) expect(isOwnerDead(ownerNameFor(host, pid))).toBe(false);
});

test("this process is alive, an earlier process with the same id is dead, and an unrecognized owner is not dead", () => {
  expect(isOwnerDead(processOwner)).toBe(false);
  expect(isOwnerDead(ownerNameFor(here, process.pid))).toBe(true);
  for (const name of ["{}", '["x"]', "not JSON"]) expect(isOwnerDead(name)).toBe(false);
});

test("a late write that succeeds does not discard a newer one of the same action, which is written next", async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const written: string[] = [];
  const { released, release } = createLatch();
  const late = createLateWrites();
  late.add(stored, () => released.then(() => void written.push("first")));
  await vi.runOnlyPendingTimersAsync();
  late.add(stored, async () => void written.push("second"));
  release();
  await vi.runAllTimersAsync();
  expect(written).toEqual(["first", "second"]);
});
