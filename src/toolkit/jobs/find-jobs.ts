// The jobs that a filter keeps. The service has none, so its pages are read here, and where that ended a cursor of its own goes on.

import { SMALLER_LIMIT } from "../../api-client/classify.ts";
import { listMicJobs } from "../../contract/endpoints/job-processing.ts";
import { DEFAULT_JOB_PAGE, MAX_PAGE } from "../../contract/envelope.ts";
import type { Job } from "../../contract/jobs.ts";
import { Failure } from "../../failure.ts";
import { knownRetry, type RetryPorts } from "../advice/job-history.ts";
import { bytesOf, MAX_WHOLE_BYTES, pageThatFits } from "../page-that-fits.ts";
import type { Ports } from "../ports.ts";
import type { ToolCall } from "../tool-call.ts";
import { countStates, createAgeWatch, fitsFilter, type JobCounts, type JobFilter } from "./job-filter.ts";

/** Jobs, in one call. */
export const MAX_READ = 1_000;
const MAX_MS = 20_000;

interface Wish {
  readonly workspaceId: string;
  /** How many rows, at most. */
  readonly limit?: number | undefined;
  readonly cursor?: string | undefined;
  readonly filter: JobFilter;
  /** Rows are whole jobs. */
  readonly isFull: boolean;
}

export interface FoundJobs {
  readonly data: readonly Job[];
  /** Goes on exactly where reading ended. */
  readonly page: { readonly nextCursor: string | null; readonly hasMore: boolean };
  readonly meta: { readonly requestId: string };
  readonly drift: readonly string[];
  /** Of all that was read, each job once. */
  readonly counts: JobCounts;
  readonly read: { readonly jobs: number; readonly complete: boolean };
  /** Why it ended, where that is not as usual: a sentence. */
  readonly ended?: string;
  /** There are fewer rows than were asked for, since more do not fit into one answer. */
  readonly isCut: boolean;
  /** What is left was most likely created before `createdSince`. */
  readonly isRestOld: boolean;
}

/** The rows so far, and what was read for them. */
function createRows({ filter, limit = DEFAULT_JOB_PAGE, isFull }: Wish, ports: RetryPorts) {
  const fits = fitsFilter(filter);
  const seen = new Map<string, Job>();
  const rows: Job[] = [];
  let bytes = 0;
  const weigh = (job: Job): number => (isFull ? bytesOf(job) : 0);
  const isRow = async (job: Job): Promise<boolean> =>
    fits(job) && !seen.has(job.id) && (filter.unretried !== true || (await knownRetry(job.id, ports)) === undefined);
  const areRows = (jobs: readonly Job[]): Promise<readonly boolean[]> => Promise.all(jobs.map(isRow));

  return {
    seen,
    areAll: (): boolean => rows.length >= limit,
    /** How many of these jobs, from the first, can be passed before there is a row too many. */
    async room(jobs: readonly Job[]): Promise<number> {
      ports.retries.remember(jobs);
      const taken = await areRows(jobs);
      let [count, weight] = [rows.length, bytes];
      for (const [index, job] of jobs.entries()) {
        if (taken[index] !== true) continue;
        weight += weigh(job);
        if (count >= limit || (count > 0 && weight > MAX_WHOLE_BYTES)) return index;
        count += 1;
      }
      return jobs.length;
    },
    async take(jobs: readonly Job[]): Promise<void> {
      const taken = await areRows(jobs);
      for (const [index, job] of jobs.entries()) {
        seen.set(job.id, job);
        if (taken[index] !== true) continue;
        rows.push(job);
        bytes += weigh(job);
      }
    },
    /** A later page may have shown the retry of an earlier one's row. */
    all: (): readonly Job[] =>
      filter.unretried === true ? rows.filter(({ id }) => ports.retries.of(id) === undefined) : rows,
  };
}

/** Throws Failure where not even the first page can be read. */
export async function findJobs(
  wish: Wish,
  { context, report }: Pick<ToolCall, "context" | "report">,
  ports: Pick<Ports, "service"> & RetryPorts,
): Promise<FoundJobs> {
  const { service } = ports;
  const stopAt = service.timing.now() + MAX_MS;
  const rows = createRows(wish, ports);
  const isOld = createAgeWatch(wish.filter);
  const drift = new Set<string>();
  let meta = { requestId: "" };
  let readCount = 0;
  let { cursor } = wish;

  const pageHere = async (limit = Math.min(MAX_PAGE, MAX_READ - readCount)) => {
    const query = { workspaceId: wish.workspaceId, limit, ...(cursor !== undefined && { cursor }) };
    // The first page has the time that any list has.
    const deadlineAt = readCount === 0 ? context.deadlineAt : Math.min(context.deadlineAt, stopAt);
    return await service.call(listMicJobs, { query }, { ...context, deadlineAt });
  };
  const found = (
    page: FoundJobs["page"],
    why: Partial<Pick<FoundJobs, "ended" | "isCut" | "isRestOld">> = {},
  ): FoundJobs => ({
    data: rows.all(),
    page,
    meta,
    drift: [...drift],
    counts: countStates(rows.seen.values()),
    read: { jobs: rows.seen.size, complete: !page.hasMore },
    isCut: false,
    isRestOld: false,
    ...why,
  });
  const goingOnHere = () => ({ nextCursor: cursor ?? null, hasMore: true });

  for (;;) {
    const fitting = await pageThatFits(pageHere, rows.room).catch((error: unknown) => {
      if (!(error instanceof Failure)) throw error;
      if (readCount === 0 && error.facts.next === SMALLER_LIMIT)
        // Here the limit is the number of jobs that are found, not the size of a page.
        throw error.with({
          next: "Call again with a smaller limit, and without states, createdSince, unretried and saveAs.",
        });
      if (readCount === 0 || context.signal.aborted) throw error;
      return error;
    });
    if (fitting instanceof Failure) return found(goingOnHere(), { ended: fitting.facts.message });
    const { answer, isCut } = fitting;
    if (answer === undefined) return found(goingOnHere(), { isCut: !rows.areAll() });
    const { data, page } = answer.value;
    await rows.take(data);
    ({ meta } = answer.value);
    for (const field of answer.drift) drift.add(field);
    readCount += data.length;
    report({ progress: readCount, message: `${readCount} jobs read` });
    const isRestOld = isOld(data);
    if (isCut) return found(page, { isCut: !rows.areAll() });
    if (!page.hasMore || page.nextCursor === null || page.nextCursor === cursor) return found(page);
    if (isRestOld || readCount >= MAX_READ || service.timing.now() >= stopAt) return found(page, { isRestOld });
    cursor = page.nextCursor;
  }
}
