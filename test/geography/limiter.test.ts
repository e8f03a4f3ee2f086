// The one limiter: never more than N in any 60 s window, 4 at once, pauses obeyed, people before what is read ahead.
import { setMaxListeners } from "node:events";
import fc from "fast-check";
import { expect, test } from "vitest";
import { Failure } from "../../src/failure.ts";
import { OwnLedger, SLOWED_MS, WINDOW_MS } from "../../src/geography/ledger.ts";
import { LANES, Limiter, type Permit } from "../../src/geography/limiter.ts";
import { type VirtualTime, virtualTime } from "./virtual.ts";

const NEVER = new AbortController().signal;
setMaxListeners(0, NEVER);
const patient = { signal: NEVER, isUrgent: false, untilAt: Number.POSITIVE_INFINITY };

function limiterAt(perMinute: number, time: VirtualTime): Limiter {
  const limits = { ahead: perMinute, direct: perMinute };
  return new Limiter({ limits, ledger: new OwnLedger(limits, time), timing: time, closing: NEVER });
}

/** The most that lie within any window. */
const mostWithin = (times: readonly number[], windowMs: number): number =>
  Math.max(0, ...times.map((start) => times.filter((at) => at >= start && at < start + windowMs).length));

test("never lets more than N requests leave within any 60 seconds, nor more than 4 be under way", async () => {
  const arrivals = fc.array(fc.record({ afterMs: fc.nat(3000), tookMs: fc.nat(5000), isUrgent: fc.boolean() }), {
    minLength: 1,
    maxLength: 60,
  });
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 1, max: 12 }), arrivals, async (perMinute, requests) => {
      const time = virtualTime();
      const limiter = limiterAt(perMinute, time);
      const left: number[] = [];
      let underWay = 0;
      const work = requests.map(async ({ afterMs, tookMs, isUrgent }) => {
        await time.sleep(afterMs, NEVER);
        const permit = await limiter.acquire({ ...patient, isUrgent });
        left.push(time.now());
        underWay += 1;
        expect(underWay).toBeLessThanOrEqual(LANES);
        await time.sleep(tookMs, NEVER);
        underWay -= 1;
        permit.end();
      });
      await time.during(Promise.all(work));
      expect(left).toHaveLength(requests.length);
      expect(mostWithin(left, WINDOW_MS)).toBeLessThanOrEqual(perMinute);
    }),
    { numRuns: 60 },
  );
});

const use = async (limiter: Limiter, count: number): Promise<void> => {
  for (let n = 0; n < count; n++) (await limiter.acquire(patient)).end();
};

test("wastes nothing: the next request leaves as soon as the window allows", async () => {
  const time = virtualTime();
  const limiter = limiterAt(3, time);
  await use(limiter, 3);
  const startedAt = time.now();
  expect(limiter.delayMs()).toBe(WINDOW_MS);
  expect(limiter.delayMs(3)).toBe(2 * WINDOW_MS);
  await time.during(limiter.acquire(patient));
  expect(time.now() - startedAt).toBe(WINDOW_MS);
});

test("a permit given back was never used", async () => {
  const time = virtualTime();
  const limiter = limiterAt(1, time);
  (await limiter.acquire(patient)).giveBack();
  expect(limiter.delayMs()).toBe(0);
});

test("who is waited for goes first", async () => {
  const time = virtualTime();
  const limiter = limiterAt(1, time);
  await use(limiter, 1);
  const order: string[] = [];
  const take = (name: string, isUrgent: boolean) =>
    limiter.acquire({ ...patient, isUrgent }).then((permit: Permit) => {
      order.push(name);
      permit.end();
    });
  await time.during(Promise.all([take("ahead", false), take("first", true), take("second", true)]));
  expect(order).toEqual(["first", "second", "ahead"]);
});

test("a wait that cannot end in time is refused at once, with the seconds that it would take", async () => {
  const time = virtualTime();
  const limiter = limiterAt(1, time);
  await use(limiter, 1);
  const refused = limiter.acquire({ ...patient, isUrgent: true, untilAt: time.now() + 45_000 });
  const failure = await refused.catch((error: unknown) => error);
  if (!(failure instanceof Failure)) throw new Error("not refused");
  expect(failure.facts).toMatchObject({ kind: "rate_limited", retryable: true, retryAfterSeconds: 60 });
});

test("after a 429 nothing leaves before Retry-After is over, then half as much for ten minutes", async () => {
  const time = virtualTime();
  const limiter = limiterAt(10, time);
  limiter.pauseFor(30);
  expect(limiter.isFrozen).toBe(true);
  expect(limiter.delayMs()).toBe(30_000);
  limiter.pauseFor(5);
  expect(limiter.delayMs()).toBe(30_000);
  await time.during(use(limiter, 1));
  await use(limiter, 4);
  expect(limiter.delayMs()).toBe(WINDOW_MS);
  await time.pass(SLOWED_MS);
  await use(limiter, 10);
  expect(limiter.delayMs()).toBe(WINDOW_MS);
});

test("one that is no longer waited for leaves the line", async () => {
  const time = virtualTime();
  const limiter = limiterAt(1, time);
  await use(limiter, 1);
  const gone = new AbortController();
  const waiting = limiter.acquire({ ...patient, signal: gone.signal });
  gone.abort(new Error("gone"));
  await expect(waiting).rejects.toThrow("gone");
  expect(limiter.backgroundCount).toBe(0);
});
