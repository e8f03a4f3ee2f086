// This module waits for many jobs at once, and reports their states and the recommended next call when they stop or time is up.
import type { Job } from "../../contract/jobs.ts";
import { Failure, type FailureFacts } from "../../core/failure.ts";
import { formatRecordTable } from "../../core/table.ts";
import { isJobMoving, isSafeRetry, jobAdvice, needsUserAction, readJobHistory, summarizeJob } from "../advice/job.ts";
import { LONG_WAIT_SECONDS } from "../arguments.ts";
import { poll } from "../polling.ts";
import { type NextStep, type ToolResult, toolResult } from "../results.ts";
import type { JobPorts, ToolCall } from "../tool-call.ts";
import { countsOf, mapConcurrently, readJob, withTimeToAnswer } from "./batch.ts";

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

/** Reads the jobs until all or any of them have stopped, or time is up. Throws Failure if no job can be read, or on cancellation. */
export async function watchJobs(
  ids: readonly string[],
  { until, seconds, done = 0 }: WatchOptions,
  call: ToolCall,
  ports: JobPorts,
): Promise<readonly WatchedJob[]> {
  const context = withTimeToAnswer(call.context);
  const known = new Map<string, WatchedJob>();
  /** The first version, by id, of each job that waited for a user of the API at its first read. */
  const waitingForUser = new Map<string, string>();

  function shouldKeepPolling(watched: WatchedJob): boolean {
    const first = waitingForUser.get(watched.id);
    return first === undefined ? isMoving(watched) : versionOf(watched) === first;
  }

  async function read(id: string): Promise<WatchedJob> {
    const before = known.get(id);
    if (before && !shouldKeepPolling(before)) return before;
    try {
      const job = (await readJob(id, { context }, ports)).value.data;
      ports.retries.remember([job]);
      const watched = { id, job, failure: undefined };
      if (!before && needsUserAction(job)) waitingForUser.set(id, versionOf(watched));
      return watched;
    } catch (error) {
      if (!(error instanceof Failure) || context.signal.aborted || FATAL_KINDS.has(error.facts.kind)) throw error;
      return { id, job: before?.job, failure: error.facts };
    }
  }

  const countStopped = (jobs: readonly WatchedJob[]) => jobs.filter((watched) => !shouldKeepPolling(watched)).length;

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
        call.report({
          progress: done + countStopped(jobs),
          total: done + jobs.length,
          message: countsOf(jobs.map(stateOf)),
        }),
      minPauseMs: (ids.length / READS_PER_SECOND) * 1_000,
    },
    seconds,
    { ...context, timing: ports.service.timing },
  );
}

interface WaitArguments {
  readonly jobIds: readonly string[];
  readonly until?: "all" | "any" | undefined;
  readonly waitSeconds?: number | undefined;
}

async function nextStep(
  watched: readonly WatchedJob[],
  until: WaitArguments["until"],
  ports: JobPorts,
): Promise<NextStep | undefined> {
  const moving = movingIds(watched);
  if (moving.length > 0) {
    const args = { jobIds: moving, ...(until !== undefined && { until }) };
    return { tool: "wait_for_jobs", arguments: args, why: "they are still moving; this waits for them" };
  }
  const failed: string[] = [];
  for (const { id, job } of watched)
    if (job?.state === "FAILED" && isSafeRetry(jobAdvice(job, await readJobHistory(job, ports)).nextStep))
      failed.push(id);
  if (failed.length === 0) return undefined;
  const args = { jobIds: failed, retryMode: "SAFE_RESUME", reason: "Retry after a retryable failure" };
  return { tool: "retry_jobs", arguments: args, why: "their failures are retryable; finished stages are kept" };
}

/** Returns a row as in list_jobs. `error`: the code of the last read's error, if it failed. */
const rowOf = ({ id, job, failure }: WatchedJob, { retries }: JobPorts) => ({
  ...(job ? summarizeJob(job, retries.get(id)) : { id }),
  ...(failure && { error: failure.code ?? failure.kind.toUpperCase() }),
});

export async function waitForMany(
  { jobIds, until, waitSeconds = LONG_WAIT_SECONDS }: WaitArguments,
  call: ToolCall,
  ports: JobPorts,
): Promise<ToolResult<{ readonly jobs: readonly ReturnType<typeof rowOf>[]; readonly moving: number }>> {
  const watched = await watchJobs(jobIds, { until: until ?? "all", seconds: waitSeconds }, call, ports);
  const data = { jobs: watched.map((each) => rowOf(each, ports)), moving: movingIds(watched).length };
  return toolResult(call, data, {
    summary: `${countsOf(watched.map(stateOf))}.`,
    nextStep: await nextStep(watched, until, ports),
    lines: [formatRecordTable(data.jobs), `moving ${data.moving}`],
  });
}
