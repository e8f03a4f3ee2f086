// Virtual time, which advances only when a test lets it: pending sleeps end in order, without real waiting.
import { setImmediate } from "node:timers/promises";
import type { Timing } from "../../src/api-client/attempts.ts";

interface Timer {
  at: number;
  wake(): void;
}

export interface VirtualTime extends Timing {
  /** Advances the clock until the work is done. Throws if no sleep is pending. */
  runUntil<T>(work: Promise<T>): Promise<T>;
  advance(ms: number): Promise<void>;
  /** Ends the next sleep if it is due by `untilAt`. Returns false if there is none. */
  wakeNext(untilAt: number): boolean;
  /** Sets the clock back, without an effect on the remaining time of pending sleeps. */
  setBack(ms: number): void;
}

/** An answer about all states is computed in about as many turns of the event loop. */
const MAX_IDLE_ROUNDS = 100;

export function createVirtualTime(startAt = "2026-11-20T20:00:00.000Z"): VirtualTime {
  let nowMs = Date.parse(startAt);
  let pendingTimers: Timer[] = [];

  const sleep = (ms: number, signal: AbortSignal): Promise<void> =>
    new Promise((resolve, reject) => {
      if (signal.aborted) return reject(signal.reason);
      const onAbort = (): void => {
        pendingTimers = pendingTimers.filter((each) => each !== timer);
        reject(signal.reason);
      };
      const timer: Timer = {
        at: nowMs + Math.max(0, ms),
        wake() {
          signal.removeEventListener("abort", onAbort);
          resolve();
        },
      };
      signal.addEventListener("abort", onAbort, { once: true });
      pendingTimers.push(timer);
    });

  function wakeNext(untilAt: number): boolean {
    const [next] = [...pendingTimers].sort((a, b) => a.at - b.at);
    if (next === undefined || next.at > untilAt) return false;
    pendingTimers = pendingTimers.filter((each) => each !== next);
    nowMs = Math.max(nowMs, next.at);
    next.wake();
    return true;
  }

  return {
    now: () => nowMs,
    clockMs: () => nowMs,
    random: () => 0.5,
    sleep,
    wakeNext,
    async runUntil(work) {
      let isDone = false;
      work
        .catch(() => undefined)
        .finally(() => {
          isDone = true;
        });
      for (let idleRounds = 0; idleRounds < MAX_IDLE_ROUNDS; ) {
        await setImmediate();
        if (isDone) return await work;
        idleRounds = wakeNext(Number.POSITIVE_INFINITY) ? 0 : idleRounds + 1;
      }
      throw new Error("nothing will ever happen any more");
    },
    async advance(ms) {
      const untilAt = nowMs + ms;
      do await setImmediate();
      while (wakeNext(untilAt));
      nowMs = untilAt;
    },
    setBack(ms) {
      nowMs -= ms;
      for (const timer of pendingTimers) timer.at -= ms;
    },
  };
}
