// Runs the timers and the clock of the test's process faster, which shortens limits of 20 s and 45 s.
import { createRequire } from "node:module";
import { onTestFinished, vi } from "vitest";

const promises: typeof import("node:timers/promises") = createRequire(import.meta.url)("node:timers/promises");

/** Speeds up the timers until the running test ends. Only for the build: it is CommonJS, which looks up each function when it is called. */
export function speedUpTimers(speed = 100): void {
  const { setTimeout: start } = globalThis;
  const { setTimeout: sleep } = promises;
  const { now } = Date;
  const startedAt = now();
  const sleeping = vi.spyOn(promises, "setTimeout").mockImplementation((ms = 0, ...rest) => sleep(ms / speed, ...rest));
  const clock = vi.spyOn(Date, "now").mockImplementation(() => startedAt + (now() - startedAt) * speed);
  vi.stubGlobal("setTimeout", (callback: () => void, ms = 0, ...rest: []) => start(callback, ms / speed, ...rest));
  onTestFinished(() => {
    vi.unstubAllGlobals();
    clock.mockRestore();
    sleeping.mockRestore();
  });
}
