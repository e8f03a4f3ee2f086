// This module waits for many jobs at once, and reports their states and the recommended next call when they stop or time is up.
import { timeLeftMs } from "../../api-client/attempts.ts";
import type { Job } from "../../contract/jobs.ts";
import { Failure, type FailureFacts } from "../../core/failure.ts";
import { formatRecordTable } from "../../core/table.ts";
import { LONG_WAIT_SECONDS } from "../arguments.ts";
import { describeJob, ENDED, isJobMoving, jobStateText, summarizeJob } from "../describe/job.ts";
import { missingIdNote } from "../id-hints.ts";
import { poll } from "../polling.ts";
import { type NextStep, type ToolResult, toolResult } from "../results.ts";
import type { ToolContext } from "../tool-context.ts";
import { countsOf, mapConcurrently, readJob, withWaitLimit } from "./batch.ts";
import { readJobHistory } from "./job-history.ts";
import { readOrigins } from "./origins.ts";

/** A job as it was last read. */
export interface WatchedJob {
  readonly id: string;
  /** Undefined if no read has succeeded. */
  readonly job: Job | undefined;
  /** The error of the last read, if it failed. */
  readonly failure: FailureFacts | undefined;
}

interface WatchOptions {
  readonly until: "all" | "any";
  readonly seconds: number;
  /** Progress before the wait begins (default 0). */
  readonly done?: number;
}

/** Kinds of errors that apply to every job, so that the whole call has to fail. */
const FATAL_KINDS: ReadonlySet<FailureFacts["kind"]> = new Set(["not_configured", "unauthorized", "internal"]);

const isMoving = ({ job, failure }: WatchedJob): boolean => (job ? isJobMoving(job) : failure?.retryable === true);

export const movingIds = (jobs: readonly WatchedJob[]): readonly string[] => jobs.filter(isMoving).map(({ id }) => id);

const versionOf = ({ job, failure }: WatchedJob): string => `${job?.resourceVersion} ${failure?.kind}`;

const stateOf = ({ job, failure }: WatchedJob): string =>
  job?.state ?? (failure?.kind === "not_found" ? "not found" : "not read");

/** Maximum number of jobs that one call reads per second while they change. */
const READS_PER_SECOND = 8;

/** Part of the wait, and maximum in seconds, that is reserved for the last read. */
const FINAL_READ_SHARE = 0.25;
const MAX_FINAL_READ_SECONDS = 2;

/**
 * Reads the jobs until all or any of them have stopped, or time is up. A job whose last request has no response by then is returned as it
 * was read before. Throws Failure on cancellation, or for an error that applies to every job.
 */
export async function watchJobs(
  ids: readonly string[],
  { until, seconds, done = 0 }: WatchOptions,
  ctx: ToolContext,
): Promise<readonly WatchedJob[]> {
  const { timing } = ctx.api;
  const limitSeconds = Math.max(0, Math.min(seconds, timeLeftMs(ctx, timing) / 1_000));
  const known = new Map<string, WatchedJob>();

  async function read(id: string): Promise<WatchedJob> {
    const before = known.get(id);
    if (before && !isMoving(before)) return before;
    try {
      const job = (await readJob(id, ctx)).value.data;
      ctx.retries.remember([job]);
      return { id, job, failure: undefined };
    } catch (error) {
      if (!(error instanceof Failure) || ctx.signal.aborted || FATAL_KINDS.has(error.facts.kind)) throw error;
      return { id, job: before?.job, failure: error.facts };
    }
  }

  const countStopped = (jobs: readonly WatchedJob[]) => jobs.filter((watched) => !isMoving(watched)).length;

  return await poll(
    {
      async read() {
        const jobs = await mapConcurrently(ids, read);
        for (const watched of jobs) known.set(watched.id, watched);
        return jobs;
      },
      version: (jobs) => jobs.map(versionOf).join(),
      isMoving: (jobs) => countStopped(jobs) < (until === "any" ? 1 : jobs.length),
      onRead: (jobs) =>
        ctx.report({
          progress: done + countStopped(jobs),
          total: done + jobs.length,
          message: countsOf(jobs.map(stateOf)),
        }),
      minPauseMs: (ids.length / READS_PER_SECOND) * 1_000,
    },
    limitSeconds - Math.min(MAX_FINAL_READ_SECONDS, limitSeconds * FINAL_READ_SHARE),
    // The time for the last read is already reserved.
    { ...ctx, deadlineAt: Number.POSITIVE_INFINITY, timing },
  );
}

interface WaitArguments {
  readonly jobIds: readonly string[];
  readonly until?: "all" | "any";
  readonly waitSeconds?: number;
}

/** Returns the call that retries the failed jobs for which `jobAdvice` recommends a retry; SAFE_RESUME first. */
export async function retryFailedStep(watched: readonly WatchedJob[], ctx: ToolContext): Promise<NextStep | undefined> {
  const failed = watched.flatMap(({ job }) => (job?.state === "FAILED" ? job : []));
  const steps = await mapConcurrently(failed, async (job) => ({
    id: job.id,
    step: describeJob(job, await readJobHistory(job, ctx)).nextStep,
  }));
  const retries = steps.flatMap(({ id, step }) =>
    step?.tool === "retry_job" ? { id, retryMode: step.arguments["retryMode"] } : [],
  );
  const resumed = retries.filter(({ retryMode }) => retryMode === "SAFE_RESUME");
  if (retries.length === 0) return undefined;
  const [chosen, retryMode, why] =
    resumed.length > 0
      ? [resumed, "SAFE_RESUME", "their failures are retryable; finished stages are kept"]
      : [
          retries,
          "RESTART",
          "they failed at the same stage again; RESTART discards finished stages: ask the user first",
        ];
  const reason = "Retry after a retryable failure";
  return { tool: "retry_jobs", arguments: { jobIds: chosen.map(({ id }) => id), retryMode, reason }, why };
}

async function nextStep(
  watched: readonly WatchedJob[],
  until: WaitArguments["until"],
  ctx: ToolContext,
): Promise<NextStep | undefined> {
  const moving = movingIds(watched);
  if (moving.length === 0) return await retryFailedStep(watched, ctx);
  const args = { jobIds: moving, ...(until !== undefined && { until }) };
  return { tool: "wait_for_jobs", arguments: args, why: "waits for the jobs that are still in progress" };
}

/** Returns " 1 waits for its operator (PAUSED at BLEND). Tell the user."; an empty string if no job does. */
export function operatorNeededText(jobs: readonly (Job | undefined)[]): string {
  const waiting = jobs.flatMap((job) => (!job || isJobMoving(job) || ENDED.has(job.state) ? [] : jobStateText(job)));
  const [first, ...others] = waiting;
  if (first === undefined) return "";
  const [wait, states] =
    others.length === 0
      ? ["1 waits for its operator", first]
      : [`${waiting.length} wait for their operators`, countsOf(waiting)];
  return ` ${wait} (${states}). Tell the user.`;
}

/** The output of a job, or its failure in the API's words. */
export const jobOutcome = ({ outputDatasetVersionId, failure }: Job) => ({
  ...(outputDatasetVersionId !== null && { outputDatasetVersionId }),
  ...(failure && { title: failure.title }),
});

/** Returns the rows: as in list_jobs, with output and failure. `error`: the code of the last read's error, if it failed. */
async function rowsOf(watched: readonly WatchedJob[], ctx: ToolContext) {
  const origins = await readOrigins(
    watched.map(({ id }) => id),
    ctx,
  );
  return watched.map(({ id, job, failure }) => {
    const note = failure && missingIdNote(failure, { jobId: id }, ctx);
    return {
      ...(job ? { ...summarizeJob(job, ctx.retries.get(id)), ...jobOutcome(job) } : { id }),
      ...origins.get(id),
      ...(failure && { error: failure.code ?? failure.kind.toUpperCase() }),
      ...(note !== undefined && { note }),
    };
  });
}

export async function waitForMany(
  { jobIds, until, waitSeconds = LONG_WAIT_SECONDS }: WaitArguments,
  toolContext: ToolContext,
): Promise<ToolResult<{ readonly jobs: Awaited<ReturnType<typeof rowsOf>>; readonly moving: number }>> {
  const ctx = withWaitLimit(toolContext, waitSeconds);
  const options = { until: until ?? "all", seconds: waitSeconds };
  const watched = await watchJobs(jobIds, options, ctx);
  const data = { jobs: await rowsOf(watched, ctx), moving: movingIds(watched).length };
  return toolResult(ctx, data, {
    summary: `${countsOf(watched.map(stateOf))}.${operatorNeededText(watched.map(({ job }) => job))}`,
    nextStep: await nextStep(watched, until, ctx),
    lines: [formatRecordTable(data.jobs), `moving ${data.moving}`],
  });
}
