// Time as this room uses it. A test brings its own: sleeping then moves its clock and takes no time.
import { setTimeout as sleep } from "node:timers/promises";
import { systemTiming, type Timing } from "../service/attempts.ts";

/** Its timers keep no finished process alive. */
export const systemGeographyTiming: Timing = {
  ...systemTiming,
  sleep: (ms, signal) => sleep(ms, undefined, { signal, ref: false }),
};
