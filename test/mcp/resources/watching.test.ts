// Tests the poller of a resource with its own clock: how often it reads, when it stops, and which listeners it notifies.

import { expect, test } from "vitest";
import { Failure, type FailureFacts } from "../../../src/core/failure.ts";
import { say } from "../../../src/core/text.ts";
import { createResourceWatcher } from "../../../src/toolkit/resources/resource-watcher.ts";

interface ResourceState {
  version: number;
  fails?: Partial<FailureFacts> | undefined;
}

/** Creates a watcher of at most 3 resources for which time passes only while pollers wait. */
function createTestWatcher(random = 0.5) {
  let nowMs = 0;
  let requestedMs = 0;
  const waits: number[] = [];
  let resume: (() => void)[] = [];
  const watcher = createResourceWatcher({
    timing: { clockMs: () => nowMs, random: () => random },
    requestedMs: () => requestedMs,
    maxWatched: 3,
    wait: (ms, signal) =>
      new Promise<void>((resolve, reject) => {
        waits.push(ms);
        resume.push(() => {
          if (signal.aborted) return reject(new Error("aborted"));
          nowMs += ms;
          resolve();
        });
      }),
  });
  const message = say`away`;
  const facts = { kind: "upstream_unavailable", message, retryable: true, sideEffect: "none" } as const;
  return {
    waits,
    request(ms: number) {
      requestedMs = ms;
    },
    count: watcher.count,
    watch(name: string, state: ResourceState) {
      const counts = { reads: 0, changes: 0 };
      async function readVersion() {
        counts.reads += 1;
        const { version, fails } = state;
        if (fails) throw new Failure({ ...facts, ...fails });
        return { version, hasEnded: false };
      }
      return { ...watcher.watch(name, readVersion, () => counts.changes++), counts };
    },
    /** Ends every wait and runs the work that follows, `times` times. */
    async pass(times = 1) {
      await new Promise(setImmediate);
      for (let time = 0; time < times; time += 1) {
        const due = resume;
        resume = [];
        for (const resolveWait of due) resolveWait();
        await new Promise(setImmediate);
      }
    },
  };
}

test("a resource is read often while it changes and seldom while it does not", async () => {
  const { watch, waits, pass } = createTestWatcher();
  const job = { version: 1 };
  const { exists, counts } = watch("a", job);
  expect(await exists).toBe(true);
  await pass(20);
  expect(waits.slice(0, 3)).toEqual([1_000, 1_500, 2_250]);
  expect(waits.at(-1)).toBe(30_000);
  expect(waits).toEqual([...waits].sort((a, b) => a - b));
  expect(counts.changes).toBe(0);
  job.version = 2;
  await pass();
  expect(counts.changes).toBe(1);
  expect(waits.at(-1)).toBe(1_000);
});

test.each([
  [0, 800],
  [0.999_999, 1_200],
])("jitter of %d delays the second read by %d ms", async (random, expected) => {
  const { watch, waits, pass } = createTestWatcher(random);
  watch("a", { version: 1 });
  await pass();
  expect(waits[0]).toBeCloseTo(expected, 0);
});

test("one poller reads for all listeners of a resource, and stops with the last one", async () => {
  const { watch, pass, count } = createTestWatcher();
  const job = { version: 1 };
  const [one, two] = [watch("a", job), watch("a", job)];
  const counts = () => [one.counts.reads + two.counts.reads, one.counts.changes, two.counts.changes, count()];
  await Promise.all([one.exists, two.exists]);
  expect(counts()).toEqual([1, 0, 0, 1]);
  job.version = 2;
  await pass();
  expect(counts()).toEqual([2, 1, 1, 1]);
  one.stop();
  one.stop();
  job.version = 3;
  await pass();
  expect(counts()).toEqual([3, 1, 2, 1]);
  two.stop();
  await pass(3);
  expect(counts()).toEqual([3, 1, 2, 0]);
});

test.each(["not_found", "invalid_arguments"] as const)(
  "a resource whose first read fails with %s counts as missing",
  async (kind) => {
    const { watch, pass, count } = createTestWatcher();
    const { exists, counts } = watch("a", { version: 1, fails: { kind } });
    expect(await exists).toBe(false);
    await pass(3);
    expect([counts.reads, count()]).toEqual([1, 0]);
  },
);

test("an unavailable API is read less and less often; the first successful read is reported", async () => {
  const { watch, waits, pass } = createTestWatcher();
  const job: ResourceState = { version: 1, fails: {} };
  const { exists, counts } = watch("a", job);
  expect(await exists).toBe(true);
  await pass(6);
  expect(waits).toEqual([2_000, 3_000, 4_500, 6_750, 10_125, 15_187.5, 22_781.25]);
  job.fails = undefined;
  await pass();
  expect(counts.changes).toBe(1);
});

test("after a Retry-After of the API, no resource is read before it has passed", async () => {
  const { watch, waits, pass, request } = createTestWatcher();
  watch("a", { version: 1 });
  watch("b", { version: 1 });
  await pass();
  request(120_000);
  waits.length = 0;
  await pass();
  expect(waits).toEqual([120_000, 120_000]);
});

test("the number of watched resources is limited; a stopped watch makes room", async () => {
  const { watch } = createTestWatcher();
  const watchNamed = (name: string) => watch(name, { version: 1 });
  const watches = ["a", "b", "c"].map(watchNamed);
  expect(() => watchNamed("d")).toThrow(/3 resources are being watched already/);
  watchNamed("a");
  watches[1]?.stop();
  expect(await watchNamed("d").exists).toBe(true);
});
