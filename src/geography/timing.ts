// Time as this room uses it: its timers keep no finished process alive. A test brings its own.
import { setTimeout as sleep } from "node:timers/promises";
import { systemTiming, type Timing } from "../api-client/attempts.ts";

export const idleTiming: Timing = {
  ...systemTiming,
  sleep: (ms, signal) => sleep(ms, undefined, { signal, ref: false }),
};
