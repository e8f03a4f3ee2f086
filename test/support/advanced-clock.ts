// Advances the clock of the test's process, which the server and the emulator in it also read. Timers are not affected.
import { onTestFinished, vi } from "vitest";

const { now } = Date;

/** Returns a function that advances the clock until the running test ends. */
export function clockForTest() {
  let offsetMs = 0;
  const clock = vi.spyOn(Date, "now").mockImplementation(() => now() + offsetMs);
  onTestFinished(() => clock.mockRestore());
  return {
    advance(ms: number): void {
      offsetMs += ms;
    },
  };
}

export const HOUR_MS = 3_600_000;
