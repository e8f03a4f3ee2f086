// Jobs and operations that have ended: nothing moves any more.
import type { JobState } from "../../contract/jobs.ts";

export const ENDED: ReadonlySet<string> = new Set(["SUCCEEDED", "FAILED", "CANCELLED"] satisfies JobState[]);
