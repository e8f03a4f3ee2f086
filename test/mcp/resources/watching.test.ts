// Tests the poller of a resource with its own clock: how often it reads, when it stops, and which listeners it notifies.
import { expect, test } from "vitest";
import { Failure, type FailureFacts } from "../../../src/core/failure.ts";
import { createResourceWatcher } from "../../../src/toolkit/resources/resource-watcher.ts";

interface JobState {
  version: number;
  ended?: boolean;
  fails?: Partial<FailureFacts>;
}

/** Creates a watcher for which time passes only while pollers wait. */
function createTestWatching({ random = 0.5, maxWatched = 3 } = {}) {
  let nowMs = 0;
  const waits: number[] = [];
  let resume: (() => void)[] = [];
  const watching = createResourceWatcher({
    timing: { now: () => nowMs, random: () => random },
    maxWatched,
    wait: (ms, signal) =>
      new Promise<void>((resolve, reject) => {
        waits.push(ms);
        const stop = () => reject(new Error("aborted"));
        signal.addEventListener("abort", stop, { once: true });
        resume.push(() => {
          signal.removeEventListener("abort", stop);
          nowMs += ms;
          resolve();
        });
      }),
  });
  return {
    watching,
    waits,
    /** Ends every wait and runs the work that follows, `times` times. */
    async pass(times = 1) {
      for (let time = 0; time < times; time += 1) {
        const due = resume;
        resume = [];
        for (const resolveWait of due) resolveWait();
        await new Promise(setImmediate);
      }
    },
  };
}

function fakeJob(state: JobState) {
  let readCount = 0;
  return {
    outlook: state,
    looks: () => readCount,
    look: async () => {
      readCount += 1;
      if (state.fails)
        throw new Failure({
          kind: "upstream_unavailable",
          message: "away",
          retryable: true,
          sideEffect: "none",
          ...state.fails,
        });
      return { version: state.version, hasEnded: state.ended ?? false };
    },
  };
}

test("a resource is read often while it changes and seldom while it does not", async () => {
  const { watching, waits, pass } = createTestWatching();
  const job = fakeJob({ version: 1 });
  let changes = 0;
  const watch = watching.watch("a", job.look, () => changes++);
  expect(await watch.exists).toBe(true);
  await pass(20);
  expect(waits.slice(0, 3)).toEqual([1_000, 1_500, 2_250]);
  expect(waits.at(-1)).toBe(30_000);
  expect(waits).toEqual([...waits].sort((a, b) => a - b));
  expect(changes).toBe(0);
  job.outlook.version = 2;
  await pass();
  expect(changes).toBe(1);
  expect(waits.at(-1)).toBe(1_000);
  watch.stop();
});

test.each([
  [0, 800],
  [0.999_999, 1_200],
])("jitter of %d delays the second read by %d ms", async (random, expected) => {
  const { watching, waits } = createTestWatching({ random });
  const watch = watching.watch("a", fakeJob({ version: 1 }).look, () => undefined);
  await watch.exists;
  await new Promise(setImmediate);
  expect(waits[0]).toBeCloseTo(expected, 0);
  watch.stop();
});

test("one poller reads for all listeners of a resource, and stops with the last one", async () => {
  const { watching, pass } = createTestWatching();
  const job = fakeJob({ version: 1 });
  const notified: string[] = [];
  const one = watching.watch("a", job.look, () => notified.push("one"));
  const two = watching.watch("a", job.look, () => notified.push("two"));
  await Promise.all([one.exists, two.exists]);
  expect(job.looks()).toBe(1);
  expect(watching.count()).toBe(1);
  job.outlook.version = 2;
  await pass();
  expect(job.looks()).toBe(2);
  expect(notified).toEqual(["one", "two"]);
  one.stop();
  one.stop();
  job.outlook.version = 3;
  await pass();
  expect(notified).toEqual(["one", "two", "two"]);
  two.stop();
  expect(watching.count()).toBe(0);
  await pass(3);
  expect(job.looks()).toBe(3);
});

test("the end of a resource is reported and stops the poller; one that has already ended is read once", async () => {
  const { watching, pass } = createTestWatching();
  const job = fakeJob({ version: 1 });
  let changes = 0;
  watching.watch("a", job.look, () => changes++);
  await pass();
  Object.assign(job.outlook, { version: 2, ended: true });
  await pass(5);
  expect(changes).toBe(1);
  expect(job.looks()).toBe(2);
  expect(watching.count()).toBe(0);
  const again = watching.watch("a", job.look, () => changes++);
  expect(await again.exists).toBe(true);
  await pass(5);
  expect(job.looks()).toBe(3);
  expect(changes).toBe(1);
});

test.each(["not_found", "invalid_arguments"] as const)(
  "a resource whose first read fails with %s does not exist",
  async (kind) => {
    const { watching, pass } = createTestWatching();
    const job = fakeJob({ version: 1, fails: { kind } });
    expect(await watching.watch("a", job.look, () => undefined).exists).toBe(false);
    await pass(3);
    expect(job.looks()).toBe(1);
    expect(watching.count()).toBe(0);
  },
);

test("an unavailable API is read less and less often; the first successful read is reported", async () => {
  const { watching, waits, pass } = createTestWatching();
  const job = fakeJob({ version: 1, fails: {} });
  let changes = 0;
  const watch = watching.watch("a", job.look, () => changes++);
  expect(await watch.exists).toBe(true);
  await pass(6);
  expect(waits).toEqual([2_000, 4_000, 8_000, 16_000, 30_000, 30_000, 30_000]);
  delete job.outlook.fails;
  await pass();
  expect(changes).toBe(1);
  watch.stop();
});

test("after a Retry-After of the API, no resource is read before it has passed", async () => {
  const { watching, waits, pass } = createTestWatching();
  const [busy, quiet] = [fakeJob({ version: 1 }), fakeJob({ version: 1 })];
  watching.watch("a", busy.look, () => undefined);
  watching.watch("b", quiet.look, () => undefined);
  await pass();
  busy.outlook.fails = { kind: "rate_limited", retryAfterSeconds: 120 };
  waits.length = 0;
  await pass();
  await pass();
  // One poller gets the delay from the answer; the other applies it at its next wait.
  expect(waits.filter((ms) => ms >= 100_000).length).toBeGreaterThanOrEqual(2);
});

test("the number of watched resources is limited; a stopped watch makes room", async () => {
  const { watching } = createTestWatching();
  const watches = ["a", "b", "c"].map((name) => watching.watch(name, fakeJob({ version: 1 }).look, () => undefined));
  const fourth = () => watching.watch("d", fakeJob({ version: 1 }).look, () => undefined);
  expect(fourth).toThrow(/3 resources are being watched already/);
  watching.watch("a", fakeJob({ version: 1 }).look, () => undefined);
  watches[1]?.stop();
  expect(await fourth().exists).toBe(true);
});
