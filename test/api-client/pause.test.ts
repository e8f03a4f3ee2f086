// Tests the pause of an upstream with its own clock: which requests await it, and what an outage advises.

import { expect, test } from "vitest";
import { createPause } from "../../src/api-client/pause.ts";
import { Failure } from "../../src/core/failure.ts";
import { say } from "../../src/core/text.ts";

function createTestPause() {
  let nowMs = 1_000_000;
  function advance(ms: number): void {
    nowMs += ms;
  }
  const pause = createPause({
    now: () => nowMs,
    clockMs: () => nowMs,
    random: () => 0,
    sleep: async (ms) => advance(ms),
  });
  const factsOf = (retryAfterSeconds?: number, status = 503) =>
    new Failure({
      ...{ kind: "upstream_unavailable", message: say`down`, status, retryable: true, sideEffect: "none" },
      retryAfterSeconds,
    }).facts;
  return {
    pause,
    factsOf,
    advance,
    /** Returns how long a request waits, in milliseconds. */
    async measure(operationId: string, leftMs = 45_000): Promise<number> {
      const startedAt = nowMs;
      const signal = new AbortController().signal;
      await pause.beforeRequest(operationId, { signal, deadlineAt: nowMs + leftMs });
      return nowMs - startedAt;
    },
  };
}

test("a Retry-After delays the other requests of the operation, also in later calls, and no other operation", async () => {
  const { pause, factsOf, measure } = createTestPause();
  pause.request("createMicJob", factsOf(7));
  pause.request("createMicJob", factsOf(2));
  expect(await measure("getMicJob")).toBe(0);
  expect(await measure("createMicJob")).toBe(7_000);
  expect(await measure("createMicJob")).toBe(0);
});

test("a Retry-After that does not fit into a call delays none of its requests", async () => {
  const { pause, factsOf, measure, advance } = createTestPause();
  pause.request("createMicJob", factsOf(60));
  expect(await measure("createMicJob")).toBe(0);
  advance(30_000);
  expect(await measure("createMicJob", 5_000)).toBe(0);
  expect(await measure("createMicJob")).toBe(30_000);
});

test("the wait of an outage doubles from 1 to 30 minutes after each failed call, until a response ends it", () => {
  const { pause, factsOf, advance } = createTestPause();
  const minutes = [1, 2, 4, 8, 16, 30, 30].map(() => {
    pause.fail("getMicJob", factsOf());
    // A failure during the wait does not prolong it.
    pause.fail("getMicJob", factsOf());
    const leftMs = pause.leftMs("getMicJob");
    expect(pause.leftMs()).toBe(leftMs);
    expect(pause.leftMs("createMicJob")).toBe(0);
    advance(leftMs);
    return leftMs / 60_000;
  });
  expect(minutes).toEqual([1, 2, 4, 8, 16, 30, 30]);
  pause.end("getMicJob");
  pause.fail("getMicJob", factsOf(5));
  expect(pause.leftMs()).toBe(5_000);
});
