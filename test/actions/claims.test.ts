// Claims: whether a lease still moves on this process's own time, and what this process works on, for all its action machines.
import { expect, onTestFinished, test, vi } from "vitest";
import { createLeaseMonitor, LEASE_MS } from "../../src/actions/claims.ts";
import type { Journal, StoredAction } from "../../src/actions/journal.ts";
import { createLatch } from "../support/latch.ts";
import { storedAction } from "./samples.ts";
import { type CallOutcome, openWorkerFixture } from "./workers.ts";

// Long past, or far ahead: the clock of its machine may be wrong by years.
const stored = storedAction({ owner: "another", lease_until: 1 });

function createLeaseWatch() {
  const time = { nowMs: 0 };
  const { isExpired } = createLeaseMonitor(() => time.nowMs);
  return {
    /** Looked at so many milliseconds after the last look. */
    isExpiredAfter(ms: number, facts: Partial<StoredAction> = {}): boolean {
      time.nowMs += ms;
      return isExpired({ ...stored, ...facts });
    },
  };
}

test("a lease stands still when it has not moved for 30 seconds, and never at the first look", () => {
  for (const lease_until of [0, Number.MAX_SAFE_INTEGER]) {
    const { isExpiredAfter } = createLeaseWatch();
    expect(isExpiredAfter(1_000_000, { lease_until })).toBe(false);
    expect(isExpiredAfter(29_999, { lease_until })).toBe(false);
    expect(isExpiredAfter(1, { lease_until })).toBe(true);
  }
});

test("a lease that moves does not stand still, nor does that of another owner or action", () => {
  const { isExpiredAfter } = createLeaseWatch();
  isExpiredAfter(0);
  expect(isExpiredAfter(30_000, { lease_until: 2 })).toBe(false);
  expect(isExpiredAfter(29_999, { lease_until: 2 })).toBe(false);
  expect(isExpiredAfter(30_000, { lease_until: 2, owner: "a third" })).toBe(false);
  expect(isExpiredAfter(30_000, { lease_until: 2, key: "key-0001" })).toBe(false);
  expect(isExpiredAfter(30_000, { lease_until: 2, owner: "a third" })).toBe(true);
});

test("of any number of actions no more than a thousand are kept in mind, the latest", () => {
  const { isExpiredAfter } = createLeaseWatch();
  for (let n = 0; n < 1_001; n++) isExpiredAfter(0, { key: `key-${n}` });
  expect(isExpiredAfter(30_000, { key: "key-1" })).toBe(true);
  expect(isExpiredAfter(0, { key: "key-0" }), "looked at as if for the first time").toBe(false);
});

async function createTwoWorkers() {
  const fixture = await openWorkerFixture();
  let shared: Journal | undefined;
  const first = await fixture.startWorker("first", (journal) => {
    shared = journal;
    return journal;
  });
  const second = await fixture.startWorker("second", (journal) => shared ?? journal);
  return { office: fixture, first, second };
}

const keyOf = (outcome: CallOutcome): string =>
  "result" in outcome ? outcome.result.idempotencyKey : JSON.stringify(outcome.facts);

test("an action that one of them works on is not taken up by another, and one heartbeat keeps all", async () => {
  const { office, first, second } = await createTwoWorkers();
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
  onTestFinished(() => void vi.useRealTimers());
  const { released, release } = createLatch();
  const answer = () => released.then(() => "made");
  const one = first.call({ answer });
  const other = second.call({ arguments: { recipeVersionId: "recipe-2" }, key: "another-action", answer });
  await expect.poll(() => office.sent.length).toBe(2);
  const same = second.call({ answer });
  await Promise.race([office.waitForSleeps(3), same]);
  expect(vi.getTimerCount(), "one heartbeat").toBe(1);
  vi.advanceTimersByTime(10_000);
  await expect
    .poll(async () => (await office.find("another-action"))?.lease_until)
    .toBeGreaterThan(1_800_000_000_000 + LEASE_MS);
  release();
  expect(keyOf(await same)).toBe(keyOf(await one));
  await other;
  expect(office.sent).toHaveLength(2);
  vi.advanceTimersByTime(20_000);
  expect(vi.getTimerCount()).toBe(0);
});
