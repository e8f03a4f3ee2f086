// This module has functions that several job tools share: reading a job, limiting concurrency, and keeping to the call's deadline.

import type { CallContext } from "../../api-client/attempts.ts";
import { getMicExecutableRecipe, getMicJob } from "../../contract/endpoints/job-processing.ts";
import type { RecipeOffer } from "../../contract/recipes.ts";
import { Failure, unlessFailed } from "../../core/failure.ts";
import type { Ports, ToolContext } from "../tool-context.ts";

/** Reads a job. Returns the API's response with its time. Throws Failure. */
export const readJob = (jobId: string, ctx: CallContext & Pick<Ports, "api">) =>
  ctx.api.call(getMicJob, { path: { jobId } }, ctx);

/** Returns a recipe's offer; undefined if the application may run jobs, but not read recipes. Throws Failure. */
export async function readOffer(versionId: string, ctx: ToolContext): Promise<RecipeOffer | undefined> {
  const known = ctx.offers.get(versionId);
  if (known) return known;
  const answer = await unlessFailed(ctx.api.call(getMicExecutableRecipe, { path: { versionId } }, ctx), "forbidden");
  if (answer) ctx.offers.remember([answer.value.data]);
  return answer?.value.data;
}

/** Returns the job's state; an empty string if the job cannot be read; undefined if it does not exist. */
export async function readState(jobId: string, ctx: ToolContext): Promise<string | undefined> {
  try {
    return (await readJob(jobId, withTimeToAnswer(ctx))).value.data.state;
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    return error.facts.kind === "not_found" ? undefined : "";
  }
}

/** " (FAILED)"; an empty string if the state is not known. */
export const stateSuffix = (state: string): string => (state === "" ? "" : ` (${state})`);

/** Time for the requests of a call that does not wait, in seconds. */
const REQUEST_SECONDS = 5;

/** A call that ends after its `waitSeconds`. */
export interface TimedCall {
  readonly ctx: ToolContext;
  /** Returns how many of the `waitSeconds` remain; 0 if they have passed. */
  secondsLeft(): number;
}

/** Limits a call to `waitSeconds` (5 s if 0), even if a request receives no response. An action in flight continues in the background. */
export function limitCall(waitSeconds: number, ctx: ToolContext): TimedCall {
  const { timing } = ctx.api;
  const startedAt = timing.clockMs();
  const limitMs = (waitSeconds === 0 ? REQUEST_SECONDS : waitSeconds) * 1_000;
  const deadlineAt = Math.min(ctx.deadlineAt, startedAt + limitMs - Math.min(ANSWER_MS, limitMs / 10));
  return {
    ctx: { ...ctx, deadlineAt, actionDeadlineAt: ctx.actionDeadlineAt ?? ctx.deadlineAt },
    secondsLeft: () => Math.max(0, waitSeconds - (timing.clockMs() - startedAt) / 1_000),
  };
}

/** Time that is reserved at the end of a call for its response. */
const ANSWER_MS = 1_000;

/** Returns the context with an earlier deadline, so that time remains for the response. */
export const withTimeToAnswer = (ctx: ToolContext): ToolContext => ({
  ...ctx,
  deadlineAt: ctx.deadlineAt - ANSWER_MS,
});

/** Minimum time to send an action and receive its response. */
export const MIN_ACTION_MS = 5_000;

interface Workers<T> {
  readonly inFlight: number;
  /** Returns false if no more items may be started (default: true). */
  readonly mayStart?: () => Promise<boolean>;
  /** Resolves with false if its worker starts no other item. */
  readonly work: (item: T) => Promise<boolean>;
}

/** Works on at most `inFlight` items at a time. After an error it starts no more items, waits for those in progress, and rejects. */
export async function runWorkers<T>(
  items: readonly T[],
  { inFlight, mayStart = async () => true, work }: Workers<T>,
): Promise<void> {
  const remaining = items.values();
  const errors: unknown[] = [];
  async function runWorker(): Promise<void> {
    for (const item of remaining) {
      if (errors.length > 0 || !(await mayStart()) || errors.length > 0) return;
      if (!(await work(item))) return;
    }
  }
  const catchError = (error: unknown): void => void errors.push(error);
  await Promise.all(Array.from({ length: inFlight }, () => runWorker().catch(catchError)));
  if (errors.length > 0) throw errors[0];
}

/** Maximum number of concurrent requests of one call. */
const MAX_CONCURRENT_REQUESTS = 8;

/** Runs `work` for each item, at most 8 at a time, and returns the results that are not undefined. Rejects with the first error. */
export async function mapConcurrently<T, R>(items: readonly T[], work: (item: T) => Promise<R>): Promise<readonly R[]> {
  const results = new Map<number, R>();
  await runWorkers([...items.entries()], {
    inFlight: MAX_CONCURRENT_REQUESTS,
    async work([index, item]) {
      results.set(index, await work(item));
      return true;
    },
  });
  return items.flatMap((_, index) => {
    const result = results.get(index);
    return result === undefined ? [] : [result];
  });
}
