// Work on many jobs in one call: a few at a time, and no longer than the call may take.
import * as z from "zod/v4";
import { type CallContext, type Timing, timeLeftMs } from "../../api-client/attempts.ts";
import { getMicJob } from "../../contract/endpoints/job-processing.ts";
import { heldTo } from "../requests.ts";

const MAX_JOBS = 50;

export const jobIds = z
  .array(heldTo(getMicJob.pathParameters.shape.jobId))
  .max(MAX_JOBS)
  .refine((ids) => ids.length > 0, { error: "must name a job" })
  .refine((ids) => new Set(ids).size === ids.length, { error: "must be unique" });

export const PATIENT_SECONDS = 45;
/** Of tools that are called in order to wait, for the whole call. Left out, it is the most there is. */
export const patientWaitSeconds = z
  .custom<number>((value) => z.int().min(0).max(PATIENT_SECONDS).safeParse(value).success, {
    error: `must be a whole number from 0 to ${PATIENT_SECONDS}`,
  })
  .meta({ type: "integer", maximum: PATIENT_SECONDS })
  .optional();

/** Time kept from a call's end, to answer in. */
const ANSWER_MS = 1_000;

/** The call's own time but for what it takes to answer. */
export const withTimeToAnswer = (context: CallContext): CallContext => ({
  ...context,
  deadlineAt: context.deadlineAt - ANSWER_MS,
});

/** What is left of so many seconds that began at `startedAt`. */
export const secondsLeft = (seconds: number, startedAt: number, timing: Timing): number =>
  seconds - (timing.now() - startedAt) / 1_000;

/** Less is not enough to send an action and hear of it. */
export const ACTION_MS = 5_000;

export const hasTimeToAct = (context: CallContext, timing: Timing): boolean => timeLeftMs(context, timing) >= ACTION_MS;

/** As many as a service is asked at once by one call. */
const AT_ONCE = 8;

/** Does `work` for each, a few at a time. Rejects as the first of them did, once all that had begun have ended. */
export async function eachOfMany<T, R>(items: readonly T[], work: (item: T) => Promise<R>): Promise<readonly R[]> {
  const results = new Map<number, R>();
  const coming = items.entries();
  let failed: { readonly error: unknown } | undefined;
  async function takeTurns(): Promise<void> {
    for (const [index, item] of coming) {
      if (failed) return;
      try {
        results.set(index, await work(item));
      } catch (error) {
        failed ??= { error };
      }
    }
  }
  await Promise.all(Array.from({ length: Math.min(AT_ONCE, items.length) }, takeTurns));
  if (failed) throw failed.error;
  return items.flatMap((_, index) => {
    const result = results.get(index);
    return result === undefined ? [] : [result];
  });
}

/** "2 FAILED, 1 RUNNING", the most frequent first. */
export function countsOf(words: readonly string[]): string {
  const counts = new Map<string, number>();
  for (const word of words) counts.set(word, (counts.get(word) ?? 0) + 1);
  return [...counts]
    .sort(([, one], [, other]) => other - one)
    .map(([word, count]) => `${count} ${word}`)
    .join(", ");
}
