// Measures how long stages run, since the API does not report it: from the reading that first shows a stage as running to the reading
// that first shows it as ended. A stage that was running when the view opened has no duration.
import { useRef } from "preact/hooks";
import type { JobShown, StageShown } from "./model.ts";

/** Facts from the readings; the instants are in milliseconds since 1970. */
interface Observed {
  readonly wasPending: boolean;
  startedAt?: number;
  endedAt?: number;
}

const isPending = ({ state }: StageShown): boolean => state === "PENDING";
const isRunning = ({ state }: StageShown): boolean => state === "RUNNING";

/** Returns the duration of each measured stage of this job in milliseconds, by the API's clock. */
export function useStageDurations(job: JobShown | undefined): ReadonlyMap<string, number> {
  const observed = useRef(new Map<string, Observed>());
  const durations = new Map<string, number>();
  for (const stage of job?.stages ?? []) {
    const at = Date.parse(job?.updatedAt ?? "");
    const key = `${job?.id} ${stage.name}`;
    const seen = observed.current.get(key) ?? { wasPending: isPending(stage) };
    observed.current.set(key, seen);
    if (seen.wasPending && !isPending(stage)) seen.startedAt ??= at;
    if (seen.startedAt !== undefined && !isPending(stage) && !isRunning(stage)) seen.endedAt ??= at;
    const durationMs = (seen.endedAt ?? Number.NaN) - (seen.startedAt ?? Number.NaN);
    if (durationMs > 0) durations.set(stage.name, durationMs);
  }
  return durations;
}
