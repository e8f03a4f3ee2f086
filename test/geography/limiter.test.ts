// Tests the rate limit of one process: at most N requests in any 60 s, 4 at once, cooldowns obeyed, direct calls first.
import { setMaxListeners } from "node:events";
import fc from "fast-check";
import { expect, test } from "vitest";
import { createCatalog } from "../../src/geography/catalog.ts";
import { CONCURRENCY, createLimiter, REDUCED_RATE_MS, WINDOW_MS } from "../../src/geography/limiter.ts";
import { createVirtualTime } from "../support/virtual-time.ts";
import { httpFailure } from "./fake-service.ts";

const NEVER_ABORTED = new AbortController().signal;
setMaxListeners(0, NEVER_ABORTED);
const NO_DEADLINE = Number.POSITIVE_INFINITY;

function setUp(perMinute: number) {
  const time = createVirtualTime();
  const limiter = createLimiter(
    perMinute,
    time,
    createCatalog(undefined, time.now, () => undefined),
  );
  const run = <T>(send: () => Promise<T>, isDirect = false, untilAt = NO_DEADLINE, signal = NEVER_ABORTED) =>
    limiter.run(send, signal, untilAt, isDirect);
  const runPrefetches = async (count: number): Promise<void> => {
    for (let n = 0; n < count; n++) await run(async () => undefined);
  };
  const runRateLimited = (retryAfterSeconds: number) =>
    run(() => Promise.reject(httpFailure(429, retryAfterSeconds))).catch(() => undefined);
  return { time, limiter, run, runPrefetches, runRateLimited };
}

const maxWithinWindow = (times: readonly number[]): number =>
  Math.max(0, ...times.map((start) => times.filter((at) => at >= start && at < start + WINDOW_MS).length));

test("the limiter sends at most N prefetch requests and N+2 requests in all within any 60 seconds, and at most 4 at once", async () => {
  const arrivals = fc.array(fc.record({ afterMs: fc.nat(3000), tookMs: fc.nat(5000), isDirect: fc.boolean() }), {
    minLength: 1,
    maxLength: 60,
  });
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 1, max: 12 }), arrivals, async (perMinute, requests) => {
      const { time, run } = setUp(perMinute);
      const sent: { readonly at: number; readonly isDirect: boolean }[] = [];
      let inFlight = 0;
      const work = requests.map(async ({ afterMs, tookMs, isDirect }) => {
        await time.sleep(afterMs, NEVER_ABORTED);
        await run(async () => {
          sent.push({ at: time.now(), isDirect });
          inFlight += 1;
          expect(inFlight).toBeLessThanOrEqual(CONCURRENCY);
          await time.sleep(tookMs, NEVER_ABORTED);
          inFlight -= 1;
        }, isDirect);
      });
      await time.runUntil(Promise.all(work));
      expect(sent).toHaveLength(requests.length);
      expect(maxWithinWindow(sent.map(({ at }) => at))).toBeLessThanOrEqual(perMinute + 2);
      expect(maxWithinWindow(sent.filter(({ isDirect }) => !isDirect).map(({ at }) => at))).toBeLessThanOrEqual(
        perMinute,
      );
    }),
    { numRuns: 60 },
  );
});

test("the limiter counts the requests of other processes, and ignores those with a time in the future", async () => {
  const { time, limiter } = setUp(2);
  limiter.record(time.now() - 20_000);
  limiter.record(time.now() + 3_600_000);
  expect(limiter.delayMs()).toBe(0);
  limiter.record(time.now() - 10_000);
  expect(limiter.delayMs()).toBe(40_000);
});

test("the limiter sends direct requests first, in order", async () => {
  const { time, run, runPrefetches } = setUp(1);
  await runPrefetches(1);
  const order: string[] = [];
  const record = (name: string, isDirect: boolean) => run(async () => order.push(name), isDirect);
  const all = ["ahead", "first", "second", "third"].map((name) => record(name, name !== "ahead"));
  await time.runUntil(Promise.all(all));
  expect(order).toEqual(["first", "second", "third", "ahead"]);
});

test("the limiter immediately refuses a request that cannot be sent in time, with the seconds to wait", async () => {
  const { time, run, runPrefetches } = setUp(1);
  await runPrefetches(1);
  await Promise.all([0, 1].map(() => run(async () => undefined, true)));
  await expect(run(async () => undefined, true, time.now() + 45_000)).rejects.toMatchObject({
    facts: { kind: "rate_limited", retryable: true, retryAfterSeconds: 60 },
  });
});

test("the limiter sends nothing during the Retry-After of a 429, and then at half the rate for ten minutes", async () => {
  const { time, limiter, runPrefetches, runRateLimited } = setUp(10);
  await runRateLimited(30);
  expect(limiter.isCoolingDown()).toBe(true);
  expect(limiter.availableRequests()).toBe(0);
  expect(limiter.delayMs()).toBe(30_000);
  await time.runUntil(runPrefetches(4));
  expect(limiter.delayMs()).toBe(30_000);
  await time.advance(REDUCED_RATE_MS);
  await runPrefetches(10);
  expect(limiter.delayMs()).toBe(WINDOW_MS);
});

test("the limiter drops a request whose caller stops waiting", async () => {
  const { limiter, run, runPrefetches } = setUp(1);
  await runPrefetches(1);
  const canceled = new AbortController();
  const waiting = run(() => Promise.reject(new Error("sent")), false, NO_DEADLINE, canceled.signal);
  canceled.abort(new Error("gone"));
  await expect(waiting).rejects.toThrow("gone");
  expect(limiter.isSending()).toBe(false);
});
