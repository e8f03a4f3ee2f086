// Tests the delays between attempts, on a simulated clock that each sleep advances.
import fc from "fast-check";
import { expect, test } from "vitest";
import { CALL_LIMIT_MS, waitBeforeRetry } from "../../src/api-client/attempts.ts";
import { parseRetryAfter } from "../../src/api-client/classify.ts";
import { Failure } from "../../src/core/failure.ts";

const slept: number[] = [];

const createFailure = (retryAfter?: number): Failure =>
  new Failure({
    kind: "upstream_unavailable",
    message: "down",
    retryable: true,
    sideEffect: "none",
    ...(retryAfter !== undefined && { retryAfterSeconds: retryAfter }),
  });

/** Length of one delay in ms, or undefined if no further attempt was allowed. */
async function measureWait(
  attempt: number,
  failure: Failure,
  leftMs: number,
  random: number,
): Promise<number | undefined> {
  slept.length = 0;
  const context = { signal: new AbortController().signal, deadlineAt: 1_000_000 + leftMs };
  const again = await waitBeforeRetry(attempt, failure, context, {
    now: () => 1_000_000,
    random: () => random,
    sleep: async (ms) => void slept.push(ms),
  });
  expect(slept).toHaveLength(again ? 1 : 0);
  return slept[0];
}

test("a Retry-After that one of several requests receives delays the others", async () => {
  const sharedRetryAfter = { heldUntilAt: 0 };
  const waits: number[] = [];
  const wait = (failure: Failure, leftMs: number) =>
    waitBeforeRetry(
      1,
      failure,
      { signal: new AbortController().signal, deadlineAt: 1_000_000 + leftMs, sharedRetryAfter },
      { now: () => 1_000_000, random: () => 0, sleep: async (ms) => void waits.push(ms) },
    );
  expect(await wait(createFailure(7), CALL_LIMIT_MS)).toBe(true);
  expect(await wait(createFailure(), CALL_LIMIT_MS)).toBe(true);
  // A shorter Retry-After does not shorten a longer one.
  expect(await wait(createFailure(2), CALL_LIMIT_MS)).toBe(true);
  expect(await wait(createFailure(), 5_000)).toBe(false);
  expect(waits).toEqual([7_000, 7_000, 7_000]);
});

const unit = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });

test("the delay is full jitter: uniform between 0 and a cap that doubles, at most 5 s", async () => {
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 1, max: 5 }), unit, async (attempt, random) => {
      const cap = Math.min(5000, 250 * 2 ** attempt);
      expect(await measureWait(attempt, createFailure(), CALL_LIMIT_MS, random)).toBeCloseTo(random * cap, 6);
    }),
  );
});

test("a delay that would not leave time for another attempt is not started", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 1, max: 5 }),
      unit,
      fc.integer({ min: 0, max: 6000 }),
      async (attempt, random, leftMs) => {
        const ms = await measureWait(attempt, createFailure(), leftMs, random);
        if (ms !== undefined) expect(ms).toBeLessThan(leftMs);
      },
    ),
  );
});

const inProgress = new Failure({
  kind: "conflict",
  message: "in progress",
  status: 409,
  retryable: true,
  sideEffect: "none",
});

test("a key in progress (409) is retried until the deadline, with any number of attempts and a pause before each", async () => {
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 1, max: 500 }), unit, async (attempt, random) => {
      const ms = await measureWait(attempt, inProgress, CALL_LIMIT_MS, random);
      expect(ms).toBeGreaterThanOrEqual(250);
      expect(ms).toBeLessThanOrEqual(5000);
    }),
  );
  expect(await measureWait(1, inProgress, 300, 0)).toBeUndefined();
});

test("errors other than a key in progress have six attempts", async () => {
  expect(await measureWait(6, createFailure(), CALL_LIMIT_MS, 0)).toBeUndefined();
  expect(await measureWait(5, createFailure(), CALL_LIMIT_MS, 0)).toBe(0);
});

test("a Retry-After is obeyed in full if it fits the call; otherwise the call ends without a wait", async () => {
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 1, max: 100 }), unit, async (seconds, random) => {
      const ms = await measureWait(1, createFailure(seconds), CALL_LIMIT_MS, random);
      expect(ms).toBe(seconds * 1000 < CALL_LIMIT_MS - 250 ? seconds * 1000 : undefined);
    }),
  );
});

const now = Date.parse("2026-11-20T10:00:00.000Z");
const read = (text: string) => parseRetryAfter({ "retry-after": text }, now);

test("a Retry-After in seconds is read exactly", () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER }), (seconds) => {
      expect(read(String(seconds))).toBe(seconds);
    }),
  );
});

test("a Retry-After date is read as the seconds until it", () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 10_000_000 }), (seconds) => {
      expect(read(new Date(now + seconds * 1000).toUTCString())).toBe(seconds);
    }),
  );
  expect(read("Friday, 20-Nov-26 10:00:07 GMT")).toBe(7);
});

test("a Retry-After of 0 or a past date waits 1 s, the minimum", () => {
  expect(read("0")).toBe(1);
  expect(read(new Date(now - 5000).toUTCString())).toBe(1);
});

test.each(["", " ", "soon", "-", "NaN", "Infinity", "later 5"])("Retry-After %j is ignored", (text) => {
  expect(read(text)).toBeUndefined();
});

test("a missing Retry-After header gives no delay", () => expect(parseRetryAfter({}, now)).toBeUndefined());
