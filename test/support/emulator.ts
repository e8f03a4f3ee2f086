// Starts an emulator on a manually advanced clock, and closes it when the test or the file ends.
import { onTestFinished } from "vitest";
import { type Emulator, type EmulatorOptions, startEmulator } from "../../src/emulator/index.ts";
import { openForFile } from "./for-file.ts";

/** Later than any run of the tests: a time in the future here is also in the future for a server on the machine's clock. */
export function createManualClock(startAt = "2100-01-15T10:00:00.000Z") {
  let nowMs = Date.parse(startAt);
  return {
    now: () => nowMs,
    advance(ms: number): void {
      nowMs += ms;
    },
  };
}
export type ManualClock = ReturnType<typeof createManualClock>;

export async function emulatorForTest(options: EmulatorOptions = {}): Promise<Emulator> {
  const emulator = await startEmulator(options);
  onTestFinished(() => emulator.close());
  return emulator;
}

/** Starts an emulator for all tests of a file. Call it at the top level. */
export function emulatorForFile<T>(options: EmulatorOptions, wrap: (emulator: Emulator) => T): () => T {
  const open = async () => {
    const emulator = await startEmulator(options);
    return { emulator, wrapped: wrap(emulator) };
  };
  const opened = openForFile(open, ({ emulator }) => emulator.close());
  return () => opened().wrapped;
}
