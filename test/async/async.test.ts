// Tests the waits for promises: a timeout with a fallback, and a shared result.
import { expect, test } from "vitest";
import { memoizeUntilFailure, withTimeoutFallback } from "../../src/core/async.ts";

test("withTimeoutFallback returns the fallback if the promise is late or fails", async () => {
  expect(await withTimeoutFallback(Promise.resolve("there"), "otherwise", 60_000)).toBe("there");
  expect(await withTimeoutFallback(Promise.reject(new Error("no")), "otherwise", 60_000)).toBe("otherwise");
  expect(await withTimeoutFallback(new Promise(() => undefined), "otherwise", 1)).toBe("otherwise");
});

test("memoizeUntilFailure reports a failure to all callers, and the next call starts the work again, once", async () => {
  let starts = 0;
  const once = memoizeUntilFailure(async () => {
    if (++starts === 1) throw new Error("not yet");
    return starts;
  });
  const both = await Promise.allSettled([once.get(), once.get()]);
  expect(both.map(({ status }) => status)).toEqual(["rejected", "rejected"]);
  expect(starts).toBe(1);
  expect(once.ifStarted()).toBeUndefined();
  expect(await Promise.all([once.get(), once.get(), once.ifStarted()])).toEqual([2, 2, 2]);
});
