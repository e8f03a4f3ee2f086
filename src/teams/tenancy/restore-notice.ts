// Creates the notice that the journal lacks actions after a restore or a failover.
import { DEDUPLICATION_WINDOW_MS } from "../../actions/deduplication-window.ts";
import type { TimeRange } from "../variables.ts";

const toIsoSeconds = (at: Date): string => at.toISOString().replace(/\.000Z$/, "Z");

/** Returns undefined when the deduplication window of the last action in this time range is over. */
export const createRestoreNotice =
  (readRange: () => TimeRange | undefined, now: () => number) => (): string | undefined => {
    const range = readRange();
    return range && now() <= range.to.getTime() + DEDUPLICATION_WINDOW_MS
      ? `The journal was restored from a backup or an older replica: it lacks the actions from ${toIsoSeconds(range.from)} to ${toIsoSeconds(range.to)}. ` +
          "Before you repeat an action that may have run in this period, check for its result with the MIC API (list_jobs)."
      : undefined;
  };
