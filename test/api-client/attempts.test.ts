// How long is waited between attempts, on a clock of our own: sleeping moves it and takes no time.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { CALL_LIMIT_MS, waitBeforeRetry } from "../../src/api-client/attempts.ts";
import { retryAfterSeconds } from "../../src/api-client/classify.ts";
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

/** What one wait was: how long, or undefined when it was refused. */
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

test("a Retry-After that one of several requests gets holds the others", async () => {
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
  // A shorter one does not let go again what a longer one holds.
  expect(await wait(createFailure(2), CALL_LIMIT_MS)).toBe(true);
  expect(await wait(createFailure(), 5_000)).toBe(false);
  expect(waits).toEqual([7_000, 7_000, 7_000]);
});

const unit = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });

describe("without Retry-After", () => {
  test("the wait is full jitter: all of the interval from nothing to a cap that doubles, five seconds at most", async () => {
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 1, max: 5 }), unit, async (attempt, random) => {
        const cap = Math.min(5000, 250 * 2 ** attempt);
        expect(await measureWait(attempt, createFailure(), CALL_LIMIT_MS, random)).toBeCloseTo(random * cap, 6);
      }),
    );
  });

  test("no wait that would not leave time for another attempt is begun", async () => {
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
});

describe("a key that the service is still working on (409)", () => {
  const inProgress = new Failure({
    kind: "conflict",
    message: "in progress",
    status: 409,
    retryable: true,
    sideEffect: "none",
  });

  test("is asked for as long as there is time, however many attempts that takes, and not without a pause", async () => {
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 1, max: 500 }), unit, async (attempt, random) => {
        const ms = await measureWait(attempt, inProgress, CALL_LIMIT_MS, random);
        expect(ms).toBeGreaterThanOrEqual(250);
        expect(ms).toBeLessThanOrEqual(5000);
      }),
    );
    expect(await measureWait(1, inProgress, 300, 0)).toBeUndefined();
  });

  test("is the only one: anything else has six attempts", async () => {
    expect(await measureWait(6, createFailure(), CALL_LIMIT_MS, 0)).toBeUndefined();
    expect(await measureWait(5, createFailure(), CALL_LIMIT_MS, 0)).toBe(0);
  });
});

describe("with Retry-After", () => {
  test("it is obeyed in full where it fits, else not waited for at all", async () => {
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 1, max: 100 }), unit, async (seconds, random) => {
        const ms = await measureWait(1, createFailure(seconds), CALL_LIMIT_MS, random);
        expect(ms).toBe(seconds * 1000 < CALL_LIMIT_MS - 250 ? seconds * 1000 : undefined);
      }),
    );
  });

  const now = Date.parse("2026-11-20T10:00:00.000Z");
  const read = (text: string) => retryAfterSeconds({ "retry-after": text }, now);

  test("any number of seconds is read as it stands", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER }), (seconds) => {
        expect(read(String(seconds))).toBe(seconds);
      }),
    );
  });

  test("a date is read as the seconds until it", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 10_000_000 }), (seconds) => {
        expect(read(new Date(now + seconds * 1000).toUTCString())).toBe(seconds);
      }),
    );
    expect(read("Friday, 20-Nov-26 10:00:07 GMT")).toBe(7);
  });

  test("0 and a date gone by wait the shortest time there is, one second", () => {
    expect(read("0")).toBe(1);
    expect(read(new Date(now - 5000).toUTCString())).toBe(1);
  });

  test.each(["", " ", "soon", "-", "NaN", "Infinity", "later 5"])("%j is as good as none", (text) => {
    expect(read(text)).toBeUndefined();
  });

  test("no header, no wait", () => expect(retryAfterSeconds({}, now)).toBeUndefined());
});
