// What the work on jobs shares: reading one, a few at a time, and no longer than the call may take.

import { type CallContext, type Timing, timeLeftMs } from "../../api-client/attempts.ts";
import { getMicJob } from "../../contract/endpoints/job-processing.ts";
import { Failure } from "../../core/failure.ts";
import type { Ports, ToolCall } from "../tool-call.ts";

/** The API's answer, with the time it was given. Throws Failure. */
export const readJob = (jobId: string, { context }: Pick<ToolCall, "context">, { service }: Pick<Ports, "service">) =>
  service.call(getMicJob, { path: { jobId } }, context);

/** " (FAILED)"; nothing if the job may not be read; undefined if there is no such job. */
export async function stateSuffix(
  jobId: string,
  { context }: Pick<ToolCall, "context">,
  ports: Pick<Ports, "service">,
): Promise<string | undefined> {
  try {
    return ` (${(await readJob(jobId, { context: withTimeToAnswer(context) }, ports)).value.data.state})`;
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    return error.facts.kind === "not_found" ? undefined : "";
  }
}

/** Time kept from a call's end, to answer in. */
const ANSWER_MS = 1_000;

/** The call's own time without what it takes to answer. */
export const withTimeToAnswer = (context: CallContext): CallContext => ({
  ...context,
  deadlineAt: context.deadlineAt - ANSWER_MS,
});

/** What is left of so many seconds that began at `startedAt`. */
export const secondsLeft = (seconds: number, startedAt: number, timing: Timing): number =>
  seconds - (timing.now() - startedAt) / 1_000;

/** Less is not enough to send an action and receive its answer. */
export const MIN_ACTION_MS = 5_000;

export const hasTimeToAct = (context: CallContext, timing: Timing): boolean =>
  timeLeftMs(context, timing) >= MIN_ACTION_MS;

/** One call sends the API at most so many requests at once. */
const MAX_CONCURRENT_REQUESTS = 8;

/** Does `work` for each, a few at a time. Rejects as the first of them did, after all that had begun have ended. */
export async function mapConcurrently<T, R>(items: readonly T[], work: (item: T) => Promise<R>): Promise<readonly R[]> {
  const results = new Map<number, R>();
  const remaining = items.entries();
  const failed: unknown[] = [];
  async function runWorker(): Promise<void> {
    for (const [index, item] of remaining) {
      if (failed.length > 0) return;
      await work(item).then(
        (result) => results.set(index, result),
        (error: unknown) => failed.push(error),
      );
    }
  }
  await Promise.all(Array.from({ length: MAX_CONCURRENT_REQUESTS }, runWorker));
  if (failed.length > 0) throw failed[0];
  return items.flatMap((_, index) => {
    const result = results.get(index);
    return result === undefined ? [] : [result];
  });
}

/** "2 FAILED, 1 RUNNING", the most frequent first. */
export function countsOf(labels: readonly string[]): string {
  const counts = new Map<string, number>();
  for (const label of labels) counts.set(label, (counts.get(label) ?? 0) + 1);
  return [...counts]
    .sort(([, one], [, other]) => other - one)
    .map(([label, count]) => `${count} ${label}`)
    .join(", ");
}

/** "1 job", "2 jobs". */
export const formatCount = (count: number, one: string, many = `${one}s`): string =>
  `${count} ${count === 1 ? one : many}`;

/** "wait 7 s first; ", the longest of these waits, or nothing. */
export function waitFirstText(waits: readonly { readonly retryAfterSeconds?: number | undefined }[]): string {
  const seconds = Math.max(0, ...waits.map(({ retryAfterSeconds = 0 }) => retryAfterSeconds));
  return seconds > 0 ? `wait ${seconds} s first; ` : "";
}
