// Time that passes only when a test lets it: whoever sleeps is woken in order, and nobody waits.
import { setImmediate } from "node:timers/promises";
import type { Timing } from "../../src/api-client/attempts.ts";

interface Sleeper {
  at: number;
  wake(): void;
}

export interface VirtualTime extends Timing {
  /** Lets time pass until the work is done. */
  during<T>(work: Promise<T>): Promise<T>;
  pass(ms: number): Promise<void>;
  /** Sets the clock back; nobody who sleeps notices. */
  setBack(ms: number): void;
}

const START = Date.parse("2026-11-20T20:00:00.000Z");

export function virtualTime(): VirtualTime {
  let nowMs = START;
  let sleepers: Sleeper[] = [];

  const sleep = (ms: number, signal: AbortSignal): Promise<void> =>
    new Promise((resolve, reject) => {
      if (signal.aborted) return reject(signal.reason);
      const onAbort = (): void => {
        sleepers = sleepers.filter((each) => each !== sleeper);
        reject(signal.reason);
      };
      const sleeper: Sleeper = {
        at: nowMs + Math.max(0, ms),
        wake() {
          signal.removeEventListener("abort", onAbort);
          resolve();
        },
      };
      signal.addEventListener("abort", onAbort, { once: true });
      sleepers.push(sleeper);
    });

  /** Wakes who is next, if that is before `untilAt`. */
  function wakeNext(untilAt: number): boolean {
    const [next] = [...sleepers].sort((a, b) => a.at - b.at);
    if (next === undefined || next.at > untilAt) return false;
    sleepers = sleepers.filter((each) => each !== next);
    nowMs = Math.max(nowMs, next.at);
    next.wake();
    return true;
  }

  return {
    now: () => nowMs,
    random: () => 0.5,
    sleep,
    async during(work) {
      let isDone = false;
      const done = (): void => {
        isDone = true;
      };
      work.then(done, done);
      for (;;) {
        await setImmediate();
        if (isDone) return await work;
        if (!wakeNext(Number.POSITIVE_INFINITY)) throw new Error("nothing will ever happen any more");
      }
    },
    async pass(ms) {
      const untilAt = nowMs + ms;
      do await setImmediate();
      while (wakeNext(untilAt));
      nowMs = untilAt;
    },
    setBack(ms) {
      nowMs -= ms;
      for (const sleeper of sleepers) sleeper.at -= ms;
    },
  };
}
