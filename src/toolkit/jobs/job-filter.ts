// What an agent may ask of a list of jobs that the service does not filter itself.
import * as z from "zod/v4";
import { dateTime, parseDateTime } from "../../contract/instants.ts";
import { type Job, JobState } from "../../contract/jobs.ts";

export const jobFilter = {
  // Bounds that no agent would break are held to, not listed.
  states: z
    .array(JobState)
    .refine(({ length }) => length >= 1 && length <= JobState.options.length, { error: "must be 1 to 8 states" })
    .optional(),
  createdSince: dateTime.meta({ format: "date-time", maxLength: undefined }).optional(),
  unretried: z.boolean().describe("Retryable, not retried yet.").optional(),
};

export interface JobFilter {
  readonly states?: readonly JobState[] | undefined;
  readonly createdSince?: string | undefined;
  readonly unretried?: boolean | undefined;
}

export const isFilter = ({ states, createdSince, unretried }: JobFilter): boolean =>
  states !== undefined || createdSince !== undefined || unretried === true;

/** The contract's schema has let it through: it is an instant. */
const microsOf = (instant: string): bigint => parseDateTime(instant) ?? 0n;

/** As far as a job tells by itself: whether another one retries it, it does not know. */
export function fitsFilter({ states, createdSince, unretried }: JobFilter): (job: Job) => boolean {
  const since = createdSince === undefined ? undefined : microsOf(createdSince);
  return ({ state, createdAt, failure }) =>
    (states === undefined || states.includes(state)) &&
    (since === undefined || microsOf(createdAt) >= since) &&
    (unretried !== true || (state === "FAILED" && failure?.retryable === true));
}

/**
 * Tells page by page whether the rest is most likely too old. The contract gives no order (doubt 38): it is so where all that was
 * read came newest first, and the whole of this page was created before.
 */
export function createAgeWatch({ createdSince }: JobFilter): (jobs: readonly Job[]) => boolean {
  const since = createdSince === undefined ? undefined : microsOf(createdSince);
  let last: bigint | undefined;
  let isNewestFirst = true;
  return (jobs) => {
    const instants = jobs.map(({ createdAt }) => microsOf(createdAt));
    for (const instant of instants) {
      if (last !== undefined && instant > last) isNewestFirst = false;
      last = instant;
    }
    return since !== undefined && isNewestFirst && instants.length > 0 && instants.every((instant) => instant < since);
  };
}

export type JobCounts = Readonly<Partial<Record<JobState, number>>>;

/** In the contract's order of states, those that there are. */
export function countStates(jobs: Iterable<Pick<Job, "state">>): JobCounts {
  const states = [...jobs].map(({ state }) => state);
  const counts = JobState.options.map((state) => [state, states.filter((each) => each === state).length] as const);
  return Object.fromEntries(counts.filter(([, count]) => count > 0));
}

/** "12 SUCCEEDED, 3 FAILED". */
export const countsText = (counts: JobCounts): string =>
  Object.entries(counts)
    .map(([state, count]) => `${count} ${state}`)
    .join(", ");
