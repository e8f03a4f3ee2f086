// Waiting for a promise for a while, or with others.
import { expect, test } from "vitest";
import { memoizeUntilFailure, withTimeoutFallback } from "../../src/core/async.ts";

test("what is not there in time, or fails, is replaced", async () => {
  expect(await withTimeoutFallback(Promise.resolve("there"), "otherwise", 60_000)).toBe("there");
  expect(await withTimeoutFallback(Promise.reject(new Error("no")), "otherwise", 60_000)).toBe("otherwise");
  expect(await withTimeoutFallback(new Promise(() => undefined), "otherwise", 1)).toBe("otherwise");
});

test("what is started once is started by the first who asks, for all", async () => {
  let starts = 0;
  const once = memoizeUntilFailure(async () => ++starts);
  expect(once.ifStarted(), "nobody has asked").toBeUndefined();
  expect(await Promise.all([once.get(), once.get()])).toEqual([1, 1]);
  expect(await once.ifStarted()).toBe(1);
  expect(await once.get()).toBe(1);
});

test("a failure is told to all who wait for it, and the next who asks starts anew", async () => {
  let starts = 0;
  const once = memoizeUntilFailure(async () => {
    if (++starts === 1) throw new Error("not yet");
    return starts;
  });
  const both = await Promise.allSettled([once.get(), once.get()]);
  expect(both.map(({ status }) => status)).toEqual(["rejected", "rejected"]);
  expect(starts).toBe(1);
  expect(once.ifStarted()).toBeUndefined();
  expect(await once.get()).toBe(2);
});
