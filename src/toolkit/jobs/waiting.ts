// This module waits for the job that an action made, or for many jobs at once, and recommends a retry of those that failed.

import { type CallContext, timeLeftMs } from "../../api-client/attempts.ts";
import { getMicJob } from "../../contract/endpoints/job-processing.ts";
import type { Job } from "../../contract/jobs.ts";
import { tally } from "../../core/counts.ts";
import type { Failure } from "../../core/failure.ts";
import { AGENT, forReader, type Part, raw, render, say } from "../../core/text.ts";
import { adviseJob, isJobInProgress, jobProgress, jobStatus, summarizeJob } from "../describe/job.ts";
import { pollResource, waitUntil } from "../polling.ts";
import { type ActionResult, type Describe, type NextStep, resourceResult, type ToolResult } from "../results.ts";
import { fieldErrorsText } from "../summary-view.ts";
import { type Ports, type ToolContext, toStepFailure } from "../tool-context.ts";
import { mapConcurrently, readJob } from "./batch.ts";
import { type Bulk, runRows } from "./bulk.ts";
import { findKnownRetry, type HistoryPorts, readJobHistory } from "./job-history.ts";

/** A job as it was last read. */
export interface WatchedJob {
  /** The id in the call. */
  readonly id: string;
  /** The job, or its latest known retry; undefined if no read has succeeded. */
  readonly job: Job | undefined;
  /** The error of the last read, if it failed. */
  readonly failure?: Failure | undefined;
}

interface WatchOptions {
  readonly until: "all" | "any";
  /** Jobs that were read just now. */
  readonly known?: readonly Job[];
  /** Progress before the wait begins (default 0). */
  readonly done?: number;
}

/** Returns true if a later read may show another state. */
export const isInProgress = ({ job, failure }: WatchedJob): boolean =>
  failure ? failure.facts.retryable : job === undefined || isJobInProgress(job);

const versionOf = ({ job, failure }: WatchedJob): string => `${job?.resourceVersion} ${failure?.facts.kind}`;

export const stateOf = ({ job, failure }: WatchedJob): string =>
  job?.state ?? (failure?.facts.kind === "not_found" ? "not found" : "not read");

/** "3 SUCCEEDED (1 by a retry), 1 FAILED". `id`: that in the call. `state`: shown if there is no job. */
export function tallyStates(
  rows: readonly { readonly id: unknown; readonly job: Job | undefined; readonly state: string }[],
): Part {
  const retried = rows.filter(({ id, job }) => job?.state === "SUCCEEDED" && job.id !== id).length;
  const note = retried === 0 ? "" : ` (${retried} by a retry)`;
  return raw(tally(rows.map(({ state }) => (state === "SUCCEEDED" ? `${state}${note}` : state))));
}

const MAX_RETRY_CHAIN = 20;

/** Returns the id of the latest retry that the journal or a list shows; the job's own id if there is none. */
async function findLatestRetry(jobId: string, ctx: HistoryPorts): Promise<string> {
  let latest = jobId;
  for (let retries = 0; retries < MAX_RETRY_CHAIN; retries += 1) {
    const next = (await findKnownRetry(latest, ctx))?.id;
    if (next === undefined) break;
    latest = next;
  }
  return latest;
}

/** Returns the job's latest known retry, as it is now; the job itself if there is none. Throws Failure if the retry cannot be read. */
export async function followRetries(
  job: Job,
  ctx: CallContext & Pick<Ports, "api" | "actions" | "retries">,
): Promise<Job> {
  ctx.retries.remember([job]);
  const mayBeRetried = job.state === "FAILED" || job.state === "CANCELLED";
  const latest = mayBeRetried ? await findLatestRetry(job.id, ctx) : job.id;
  return latest === job.id ? job : (await readJob(latest, ctx)).value.data;
}

/** Maximum number of jobs that one call reads per second while they change. */
const READS_PER_SECOND = 8;

/** Part of the wait, and maximum in seconds, that is reserved for the last read. */
const FINAL_READ_SHARE = 0.25;
const MAX_FINAL_READ_SECONDS = 2;

/**
 * Reads the jobs, or their latest retries, until all or any of them have stopped, a failure concerns all of them, or time is up. A job whose
 * last request has no response by then is returned as it was read before. Throws Failure if the call is aborted before a job was read.
 */
export async function watchJobs(
  ids: readonly string[],
  { until, known: first = [], done = 0 }: WatchOptions,
  { ctx, stopRule, secondsLeft }: Bulk,
): Promise<readonly WatchedJob[]> {
  const { timing } = ctx.api;
  const limitSeconds = Math.max(0, Math.min(secondsLeft(), timeLeftMs(ctx, timing) / 1_000));
  const readJustNow = new Map(first.map((job) => [job.id, job]));
  const known = new Map<string, WatchedJob>();

  async function read(id: string): Promise<WatchedJob> {
    const before = known.get(id);
    if (before && !isInProgress(before)) return before;
    const last = before?.job ?? readJustNow.get(id);
    try {
      const job = last && !isJobInProgress(last) ? last : (await readJob(last?.id ?? id, ctx)).value.data;
      return { id, job: await followRetries(job, ctx) };
    } catch (error) {
      const failure = toStepFailure(error, ctx);
      if (!ctx.signal.aborted) return { id, job: before?.job, failure };
      if (last === undefined) throw failure;
      return { id, job: last };
    }
  }

  const countStopped = (jobs: readonly WatchedJob[]) => jobs.filter((watched) => !isInProgress(watched)).length;

  async function readAll(): Promise<readonly WatchedJob[]> {
    const jobs = await runRows(ids, { stopRule, work: read });
    for (const [id, watched] of jobs) known.set(id, watched);
    return ids.map((id) => known.get(id) ?? { id, job: undefined });
  }

  const isDone = (jobs: readonly WatchedJob[]): boolean =>
    stopRule.reason !== undefined || countStopped(jobs) >= (until === "any" ? 1 : jobs.length);

  return await waitUntil(readAll, isDone, {
    // The time for the last read is already reserved.
    ...{ ...ctx, deadlineAt: Number.POSITIVE_INFINITY, timing },
    seconds: limitSeconds - Math.min(MAX_FINAL_READ_SECONDS, limitSeconds * FINAL_READ_SHARE),
    version: (jobs) => jobs.map(versionOf).join(),
    onRead(jobs) {
      const [only] = jobs.length === 1 ? jobs.flatMap(({ job }) => job ?? []) : [];
      ctx.report({
        progress: done + countStopped(jobs),
        total: done + jobs.length,
        message: only ? jobProgress(only).message : tally(jobs.map(stateOf)),
      });
    },
    minPauseMs: () => (ids.length / READS_PER_SECOND) * 1_000,
  });
}

/** Waits up to `waitSeconds` for the job that an action made, and returns the result with its state then. */
export async function waitForMadeJob(
  made: ActionResult<Job>,
  waitSeconds: number,
  describe: Describe<Job>,
  ctx: ToolContext,
): Promise<ToolResult<Job>> {
  const reading = { endpoint: getMicJob, path: { jobId: made.data.id }, status: jobStatus, waitSeconds };
  const answer = await pollResource(reading, ctx, (job) => ctx.report(jobProgress(job)))
    // The job exists even if it cannot be read.
    .catch((error: unknown) => void toStepFailure(error, ctx));
  if (!answer) return made;
  const { action, replay, requestId } = made;
  const { text, mayRunAgain = true } = jobStatus(answer.value.data);
  const notice = made.noticeFor(text, mayRunAgain);
  return await resourceResult(answer, describe, { action, requestId, notice, replay });
}

/** Returns the call that retries the failed jobs for which `adviseJob` recommends a retry; SAFE_RESUME first. */
export async function retryFailedStep(
  jobs: readonly (Job | undefined)[],
  ctx: ToolContext,
): Promise<NextStep | undefined> {
  const failed = jobs.flatMap((job) => (job?.state === "FAILED" ? job : []));
  const steps = await mapConcurrently(failed, async (job) => ({
    id: job.id,
    step: adviseJob(job, await readJobHistory(job, ctx)).nextStep,
  }));
  const retries = steps.flatMap(({ id, step }) =>
    step?.tool === "retry_job" ? { id, retryMode: step.arguments["retryMode"] } : [],
  );
  const resumed = retries.filter(({ retryMode }) => retryMode === "SAFE_RESUME");
  if (retries.length === 0) return undefined;
  const [chosen, retryMode, why] =
    resumed.length > 0
      ? [resumed, "SAFE_RESUME", say`the failures are retryable; finished stages are kept`]
      : [
          retries,
          "RESTART",
          say`the jobs failed at the same stage again; RESTART discards finished stages${forReader(": ask the user first", "")}`,
        ];
  const reason = "Retry after a retryable failure";
  return { tool: "retry_jobs", arguments: { jobIds: chosen.map(({ id }) => id), retryMode, reason }, why };
}

/**
 * Returns the row of a job: as in list_jobs without `createdAt`, with its output or its failure in the API's words and the first field errors.
 * The row has the id in the call, and the facts of the latest retry. `error`: the code of the last read's error, if it failed.
 */
export function watchedJobRow({ id, job, failure }: WatchedJob, { retries }: Pick<ToolContext, "retries">) {
  const error = failure && { error: failure.facts.code ?? failure.facts.kind.toUpperCase() };
  if (!job) return { id, ...error };
  const { retryOfBatchId, createdAt: _, ...row } = summarizeJob(job, retries.get(job.id), true);
  const errors = job.failure ? render(fieldErrorsText(job.failure.fieldErrors, true), AGENT) : "";
  return {
    ...row,
    ...(job.id === id ? { retryOfBatchId } : { id, retriedBy: job.id }),
    ...(job.outputDatasetVersionId !== null && { outputDatasetVersionId: job.outputDatasetVersionId }),
    ...(job.failure && { title: job.failure.title }),
    ...(errors !== "" && { errors }),
    ...error,
  };
}
