// Waiting for many jobs at once.
import { getMicJob } from "../../contract/endpoints/job-processing.ts";
import type { Job } from "../../contract/jobs.ts";
import { Failure, type FailureFacts } from "../../failure.ts";
import { isJobMoving, summarizeJob, waitsForPerson } from "../advice/job.ts";
import type { JobPorts } from "../ports.ts";
import type { ToolCall } from "../tool-call.ts";
import { waitWhile } from "../wait-while.ts";
import { countsOf, eachOfMany, withTimeToAnswer } from "./batch.ts";

/** A job as it was last read. */
export interface WatchedJob {
  readonly id: string;
  /** Undefined while no reading has succeeded. */
  readonly job: Job | undefined;
  /** Why the last reading failed, if it did. */
  readonly failure: FailureFacts | undefined;
}

interface WatchOptions {
  readonly until: "all" | "any";
  readonly seconds: number;
  /** Progress before the waiting begins. */
  readonly done?: number;
}

/** No job could be read any better: the call itself has to fail. */
const CONCERNS_ALL: ReadonlySet<FailureFacts["kind"]> = new Set(["not_configured", "unauthorized", "internal"]);

const isMoving = ({ job, failure }: WatchedJob): boolean => (job ? isJobMoving(job) : failure?.retryable === true);

export const movingIds = (jobs: readonly WatchedJob[]): readonly string[] => jobs.filter(isMoving).map(({ id }) => id);

const versionOf = ({ job, failure }: WatchedJob): string => `${job?.resourceVersion} ${failure?.kind}`;

/** In a word. */
export const stateOf = ({ job, failure }: WatchedJob): string =>
  job?.state ?? (failure?.kind === "not_found" ? "not found" : "not read");

/** So many reads a second, whatever their number, is what one call asks of a service while things change. */
const READS_PER_SECOND = 8;

/** Reads the jobs until all or any of them have stopped, or time is up. Throws Failure where none could be read. */
export async function watchJobs(
  ids: readonly string[],
  { until, seconds, done = 0 }: WatchOptions,
  call: ToolCall,
  { service, retries }: JobPorts,
): Promise<readonly WatchedJob[]> {
  const context = withTimeToAnswer(call.context);
  const known = new Map<string, WatchedJob>();
  /** Jobs that waited for a person when they were first read, as they were then. */
  const waiting = new Map<string, string>();

  async function read(id: string): Promise<WatchedJob> {
    const before = known.get(id);
    if (before && !goesOn(before)) return before;
    try {
      const job = (await service.call(getMicJob, { path: { jobId: id } }, context)).value.data;
      retries.remember([job]);
      const watched = { id, job, failure: undefined };
      if (!before && waitsForPerson(job)) waiting.set(id, versionOf(watched));
      return watched;
    } catch (error) {
      if (!(error instanceof Failure) || context.signal.aborted || CONCERNS_ALL.has(error.facts.kind)) throw error;
      return { id, job: before?.job, failure: error.facts };
    }
  }

  function goesOn(watched: WatchedJob): boolean {
    const first = waiting.get(watched.id);
    return first === undefined ? isMoving(watched) : versionOf(watched) === first;
  }

  const stopped = (jobs: readonly WatchedJob[]) => jobs.filter((watched) => !goesOn(watched)).length;

  return await waitWhile(
    {
      async read() {
        const jobs = await eachOfMany(ids, read);
        for (const watched of jobs) known.set(watched.id, watched);
        return jobs;
      },
      version: (jobs) => jobs.map(versionOf).join(),
      isMoving: (jobs) => stopped(jobs) < (until === "any" ? 1 : jobs.length),
      onRead: (jobs) =>
        call.report({
          progress: done + stopped(jobs),
          total: done + jobs.length,
          message: countsOf(jobs.map(stateOf)),
        }),
      firstPauseMs: (ids.length / READS_PER_SECOND) * 1_000,
    },
    seconds,
    { ...context, timing: service.timing },
  );
}

/** As in a list of jobs; `error`: why it could not be read. */
export const watchedRow = ({ id, job, failure }: WatchedJob, { retries }: Pick<JobPorts, "retries">) => ({
  ...(job ? summarizeJob(job, retries.of(id)) : { id }),
  ...(failure && { error: failure.code ?? failure.kind.toUpperCase() }),
});
