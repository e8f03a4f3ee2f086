// Finds the jobs that match a filter by reading the API's pages. A next page continues exactly where reading ended.
import * as z from "zod/v4";
import type { CallContext } from "../../api-client/attempts.ts";
import { isTooLarge } from "../../api-client/classify.ts";
import type { listMicJobs } from "../../contract/endpoints/job-processing.ts";
import { DEFAULT_JOB_PAGE, MAX_PAGE } from "../../contract/envelope.ts";
import { type Job, JobState } from "../../contract/jobs.ts";
import { RecipeVersionId } from "../../contract/recipes.ts";
import { dateTime, parseDateTime } from "../../contract/scalars.ts";
import { Failure } from "../../core/failure.ts";
import { say, type Text } from "../../core/text.ts";
import { stringValidatedBy } from "../arguments.ts";
import { type GiveUpReason, giveUpReason } from "../describe/job.ts";
import { bytesOf, isUnsendable, MAX_FULL_VIEW_BYTES, readFittingPage } from "../pages.ts";
import type { ToolContext } from "../tool-context.ts";
import { type HistoryPorts, readJobHistory } from "./job-history.ts";
import { type Retries, readJobPage } from "./retries.ts";

/** Maximum number of jobs that one call reads. */
export const MAX_READ = 1_000;
const MAX_MS = 20_000;

const instant = dateTime.meta({ format: "date-time", maxLength: undefined }).optional();

export const jobFilter = {
  // Bounds that no agent would exceed are checked, but not listed in tools/list.
  states: z
    .array(JobState)
    .refine(({ length }) => length >= 1 && length <= JobState.options.length, { error: "must be 1 to 8 states" })
    .optional(),
  recipeVersionId: stringValidatedBy(RecipeVersionId).optional(),
  createdSince: instant,
  createdBefore: instant,
  updatedSince: instant,
  unretried: z.boolean().describe("Only failed jobs worth a retry.").optional(),
};

export type JobFilter = Readonly<z.output<z.ZodObject<typeof jobFilter>>> & {
  /** The code of the failure. */
  readonly failure?: string | undefined;
  readonly matches?: ((job: Job) => boolean) | undefined;
};

/** Returns microseconds since 1970. The contract's schema has already accepted the text as an instant. */
export const microsOf = (instant: string): bigint => parseDateTime(instant) ?? 0n;

/** True if the instant is not before the bound, or if there is no bound. */
export const isSince = (at: string, bound: string | undefined): boolean =>
  bound === undefined || microsOf(at) >= microsOf(bound);

export const isInPeriod = (
  { createdAt }: Job,
  { createdSince, createdBefore }: Pick<JobFilter, "createdSince" | "createdBefore">,
): boolean => isSince(createdAt, createdSince) && (createdBefore === undefined || !isSince(createdAt, createdBefore));

/** What each part of a filter requires of the job's own fields, which do not show whether another job retries it. */
const CHECKS: Readonly<Record<keyof JobFilter, (job: Job, filter: JobFilter) => boolean>> = {
  states: ({ state }, { states }) => states === undefined || states.some((each) => each === state),
  recipeVersionId: (job, { recipeVersionId: id }) => id === undefined || job.recipeVersionId === id,
  createdSince: ({ createdAt }, { createdSince }) => isSince(createdAt, createdSince),
  createdBefore: ({ createdAt }, { createdBefore: end }) => end === undefined || !isSince(createdAt, end),
  updatedSince: ({ updatedAt }, { updatedSince }) => isSince(updatedAt, updatedSince),
  unretried: ({ state, failure }, { unretried }) =>
    unretried !== true || (state === "FAILED" && failure?.retryable === true),
  failure: ({ failure }, { failure: code }) => code === undefined || failure?.code === code,
  matches: (job, { matches }) => matches === undefined || matches(job),
};

const matchesFilter = (filter: JobFilter) => (job: Job) => Object.values(CHECKS).every((check) => check(job, filter));

/**
 * Returns a function that checks after each page whether the remaining jobs are most likely too old. The contract defines no order (open
 * question 38). They are too old if all jobs so far came newest first, and the last one was created before `createdSince`.
 */
function createAgeCheck({ createdSince }: JobFilter): (jobs: readonly Job[]) => boolean {
  let last: bigint | undefined;
  let isNewestFirst = true;
  return (jobs) => {
    const instants = jobs.map(({ createdAt }) => microsOf(createdAt));
    for (const instant of instants) {
      isNewestFirst &&= last === undefined || instant <= last;
      last = instant;
    }
    if (createdSince === undefined || instants.length === 0) return false;
    return isNewestFirst && last !== undefined && last < microsOf(createdSince);
  };
}

type Page = Pick<z.output<typeof listMicJobs.success.body>["page"], "nextCursor" | "hasMore">;

interface Search {
  readonly workspaceId: string;
  /** Maximum number of rows (default 25). */
  readonly limit?: number;
  /** Maximum number of jobs to read within the time of the call (default: 1,000 in 20 s). */
  readonly maxRead?: number;
  readonly cursor?: string;
  readonly filter: JobFilter;
  /** True if the rows contain full jobs. */
  readonly isFull: boolean;
  /** Jobs with the same key have one row (default: each has its own). */
  readonly rowKey?: (job: Job) => string;
}

/** A failed job that is not worth another retry, and the reason. */
export interface GivenUpJob {
  readonly job: Job;
  readonly reason: GiveUpReason;
}

/**
 * Reads pages until the list ends or a limit is reached, and counts all jobs that match. The rows end where the next page of results begins.
 * Throws Failure if the first page cannot be read, or on cancellation.
 */
export async function findJobs(
  {
    workspaceId,
    limit: maxRows = DEFAULT_JOB_PAGE,
    maxRead,
    cursor: start,
    filter,
    isFull,
    rowKey = ({ id }: Job) => id,
  }: Search,
  ctx: CallContext & Pick<ToolContext, "api" | "report"> & HistoryPorts,
) {
  const { report } = ctx;
  const [readLimit, stopAt] =
    maxRead === undefined ? [MAX_READ, ctx.api.timing.clockMs() + MAX_MS] : [maxRead, ctx.deadlineAt];
  const fits = matchesFilter(filter);
  const isOld = createAgeCheck(filter);
  const seen = new Map<string, Job>();
  const matching: Job[] = [];
  const rows: Job[] = [];
  let rowKeys: ReadonlySet<string> = new Set();
  /** Where the rows end, if more jobs follow. */
  let cut: { readonly page: Page; readonly isShort: boolean } | undefined;
  let bytes = 0;
  let pageRows: readonly Job[] = [];
  let pageKeys = rowKeys;
  const givenUp: GivenUpJob[] = [];
  let pageGivenUp: GivenUpJob[] = [];
  const drift = new Set<string>();
  const leftOut = new Set<string>();
  let meta = { requestId: "" };
  let readCount = 0;
  let cursor = start;
  const usedCursors = new Set([start]);
  let retries: Retries = { retryOf: () => undefined };

  async function isRow(job: Job): Promise<boolean> {
    if (!fits(job) || seen.has(job.id)) return false;
    if (filter.unretried !== true) return true;
    const history = await readJobHistory(job, ctx);
    if (history.retry) return false;
    const reason = giveUpReason(job, history);
    if (reason !== undefined) pageGivenUp.push({ job, reason });
    return reason === undefined;
  }

  /** Counts the leading jobs that can be read before a row exceeds the limits. */
  async function countFittingJobs(jobs: readonly Job[]): Promise<number> {
    pageGivenUp = [];
    const areRows = await Promise.all(jobs.map(isRow));
    pageRows = jobs.filter((_, index) => areRows[index]);
    if (cut) return jobs.length;
    const keys = new Set(rowKeys);
    pageKeys = keys;
    let weight = bytes;
    for (const [index, job] of jobs.entries()) {
      if (areRows[index] !== true) continue;
      weight += isFull ? bytesOf(job) : 0;
      const isOver = !keys.has(rowKey(job)) && keys.size >= maxRows;
      if (isOver || (keys.size > 0 && weight > MAX_FULL_VIEW_BYTES)) return index;
      keys.add(rowKey(job));
    }
    return jobs.length;
  }

  const readPage = async (limit = Math.min(MAX_PAGE, readLimit - readCount)) => {
    const query = { workspaceId, limit, ...(cursor !== undefined && { cursor }) };
    // The first page may take the whole time of the call.
    const deadlineAt = readCount === 0 ? ctx.deadlineAt : Math.min(ctx.deadlineAt, stopAt);
    const answer = await readJobPage(query, { ...ctx, deadlineAt });
    ({ retries } = answer);
    return answer;
  };

  const isUnretried = ({ id }: Job): boolean => retries.retryOf(id) === undefined;

  // A later page may contain the retry of a job in an earlier row.
  const withoutRetried = (jobs: readonly Job[]) => (filter.unretried === true ? jobs.filter(isUnretried) : jobs);

  /** `page`: where reading ended. `ended`: the message of the failure that ended it early, if one did. */
  const found = (
    page: Page,
    { ended, isRestOld = false, isLoop = false }: { ended?: Text; isRestOld?: boolean; isLoop?: boolean } = {},
  ) => ({
    /** All jobs that match. */
    matching: withoutRetried(matching),
    /** Those that have a row. */
    data: withoutRetried(rows),
    page: cut?.page ?? page,
    meta,
    drift: [...drift],
    /** The jobs of the pages that break the contract: id and reason. */
    leftOut: [...leftOut],
    /** With `unretried`: jobs that match, but that `adviseJob` gives up on. */
    givenUp: givenUp.filter(({ job }) => isUnretried(job)),
    /** All jobs that were read, each job once. */
    jobs: [...seen.values()],
    retries,
    read: { jobs: seen.size, complete: !page.hasMore && leftOut.size === 0 },
    ended,
    /** True if there are fewer rows than requested, because more do not fit into one result. */
    isCut: cut?.isShort === true,
    /** True if the remaining jobs were most likely created before `createdSince`. */
    isRestOld: isRestOld && !cut,
    /** True if the API's next cursor was already used in this call, so that the remaining jobs cannot be read. */
    isLoop: isLoop && !cut,
  });

  for (;;) {
    const fitting = await readFittingPage(readPage, countFittingJobs).catch((error: unknown) => {
      if (!(error instanceof Failure)) throw error;
      if (readCount === 0 && isTooLarge(error))
        // With a filter, the limit is the number of matching jobs, not the page size.
        throw error.with({
          next: say`Call again with a smaller limit, and without a filter.`,
        });
      if (readCount === 0 || ctx.signal.aborted) throw error;
      return error;
    });
    const here = { nextCursor: cursor ?? null, hasMore: true };
    if (fitting instanceof Failure) return found(here, { ended: fitting.facts.message });
    const { answer, isCut } = fitting;
    if (answer === undefined) {
      cut = { page: here, isShort: rowKeys.size < maxRows };
      continue;
    }
    const { data, page } = answer.value;
    for (const job of data) seen.set(job.id, job);
    matching.push(...pageRows);
    givenUp.push(...pageGivenUp);
    if (!cut) {
      rows.push(...pageRows);
      rowKeys = pageKeys;
      bytes += isFull ? pageRows.reduce((sum, job) => sum + bytesOf(job), 0) : 0;
      if (isCut) cut = { page, isShort: rowKeys.size < maxRows };
    }
    ({ meta } = answer.value);
    for (const field of answer.drift) drift.add(field);
    for (const item of answer.leftOut ?? []) leftOut.add(item);
    readCount += data.length;
    report({ progress: readCount, message: `${readCount} jobs read` });
    const isRestOld = isOld(data);
    const { hasMore, nextCursor } = page;
    if (hasMore && nextCursor !== null && (usedCursors.has(nextCursor) || isUnsendable(nextCursor)))
      return found({ ...page, nextCursor: null }, { isLoop: true });
    if (!page.hasMore || page.nextCursor === null) return found(page);
    // The remaining jobs are older than `createdSince`, so the result is complete.
    if (isRestOld) return found({ nextCursor: null, hasMore: false }, { isRestOld });
    if (readCount >= readLimit || ctx.api.timing.clockMs() >= stopAt) return found(page);
    cursor = page.nextCursor;
    usedCursors.add(cursor);
  }
}

export type FoundJobs = Awaited<ReturnType<typeof findJobs>>;
