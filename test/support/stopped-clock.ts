// Stops the clock of the test's process, so that a busy machine changes no result: time passes only while a server in it waits for something.
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { createRequire, syncBuiltinESMExports } from "node:module";
import { createVirtualTime } from "./virtual-time.ts";

const promises: typeof import("node:timers/promises") = createRequire(import.meta.url)("node:timers/promises");

/** A timer of this time or more is a limit, which never ends. */
const LIMIT_MS = 1_000;
const MAX_TIMER_MS = 2 ** 31 - 1;

/**
 * The clock advances by 1 ms with each request, and to the end of the shortest wait when no request is in flight. A wait that does not keep
 * the process alive takes real time: nothing waits for it. Returns a function that starts the clock again.
 */
export function stopClock(startAt: string) {
  const time = createVirtualTime(startAt);
  const { setTimeout: startTimer } = globalThis;
  const { setTimeout: sleep } = promises;
  const [systemMs, monotonicMs, random] = [Date.now, performance.now, Math.random];
  let requests = 0;
  let answers = 0;
  let isPending = false;

  /** Ends the next wait when all code that is ready to run has run. */
  function wakeSoon(): void {
    if (isPending) return;
    isPending = true;
    startTimer(() => {
      isPending = false;
      if (requests === 0 && time.wakeNext(Number.POSITIVE_INFINITY)) wakeSoon();
    }, 1);
  }
  const begin = (): void => {
    requests += 1;
  };
  const end = (): void => {
    requests -= 1;
    answers += 1;
    wakeSoon();
  };
  const channels = [
    ["undici:request:create", begin],
    ["undici:request:trailers", end],
    ["undici:request:error", end],
  ] as const;
  for (const [channel, listener] of channels) subscribe(channel, listener);

  Date.now = () => Math.floor(time.now()) + answers;
  performance.now = Date.now;
  Math.random = time.random;
  promises.setTimeout = async (ms, value, { ref, signal = new AbortController().signal } = {}) => {
    if (ref === false) return await sleep(ms, value, { ref, signal });
    const slept = time.sleep(ms ?? 1, signal);
    wakeSoon();
    return await slept.then(() => sleep(0, value));
  };
  syncBuiltinESMExports();
  globalThis.setTimeout = Object.assign(
    (callback: () => void, ms = 0, ...rest: []) => startTimer(callback, ms < LIMIT_MS ? ms : MAX_TIMER_MS, ...rest),
    startTimer,
  );
  return (): void => {
    for (const [channel, listener] of channels) unsubscribe(channel, listener);
    [Date.now, performance.now, Math.random] = [systemMs, monotonicMs, random];
    promises.setTimeout = sleep;
    syncBuiltinESMExports();
    globalThis.setTimeout = startTimer;
  };
}
