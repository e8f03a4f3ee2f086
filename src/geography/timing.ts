// Time as this room uses it. A test brings its own: sleeping then moves its clock and takes no time.
import { setTimeout as sleep } from "node:timers/promises";
import { type Sleep, systemTiming, type Timing } from "../service/attempts.ts";

export interface GeographyTiming extends Timing {
  /** Rejects with the signal's reason. */
  readonly sleep: Sleep;
}

/** Its timers keep no finished process alive. */
export const systemGeographyTiming: GeographyTiming = {
  ...systemTiming,
  sleep: (ms, signal) => sleep(ms, undefined, { signal, ref: false }),
};
