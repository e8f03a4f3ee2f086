// Starts an emulator on a clock that moves only when told to, and closes it when the test or the file is done.
import { afterAll, beforeAll, onTestFinished } from "vitest";
import { type Emulator, type EmulatorOptions, startEmulator } from "../../src/emulator/index.ts";

export interface ManualClock {
  /** Milliseconds since 1970. */
  now(): number;
  advance(ms: number): void;
}

/** Later than any run of the tests: what is in the future here is so for a server on the machine's clock, too. */
export function createManualClock(startAt = "2100-01-15T10:00:00.000Z"): ManualClock {
  let nowMs = Date.parse(startAt);
  return {
    now: () => nowMs,
    advance: (ms) => {
      nowMs += ms;
    },
  };
}

/** For the running test alone. */
export async function emulatorForTest(options: EmulatorOptions = {}): Promise<Emulator> {
  const emulator = await startEmulator(options);
  onTestFinished(() => emulator.close());
  return emulator;
}

/** For all tests of a file; call it at the top level. */
export function emulatorForFile<T>(options: EmulatorOptions, wrap: (emulator: Emulator) => T): () => T {
  let emulator: Emulator | undefined;
  let wrapped: T | undefined;
  beforeAll(async () => {
    emulator = await startEmulator(options);
    wrapped = wrap(emulator);
  });
  afterAll(() => emulator?.close());
  return () => {
    if (wrapped === undefined) throw new Error("the emulator is there only while tests run");
    return wrapped;
  };
}
