// This module finds out which listed jobs were retried. Only the retry names the job that it retries, and it may have any state. So the
// jobs of a page do not show their own retries: all jobs before the page must have been read, without a filter.
import type * as z from "zod/v4";
import type { CallContext } from "../../api-client/attempts.ts";
import { listMicJobs } from "../../contract/endpoints/job-processing.ts";
import { MAX_PAGE } from "../../contract/envelope.ts";
import type { Job } from "../../contract/jobs.ts";
import { type Ports, toStepFailure } from "../tool-context.ts";

type Query = z.output<typeof listMicJobs.query>;

/** The rows of a list are built from jobs and this value, which only `readJobPage` returns. */
export interface Retries {
  /** Returns the id of the job's latest known retry; undefined if none is known. */
  retryOf(jobId: string): string | undefined;
}

export type RetryPorts = CallContext & Pick<Ports, "api" | "retries">;

const mayBeRetried = ({ state }: Job): boolean => state === "FAILED" || state === "CANCELLED";

/** Limits of the reads of earlier pages: their number, and their time in milliseconds. */
const MAX_PAGES = 10;
const MAX_MS = 10_000;

/** Reads the list from its start until it contained all these jobs; returns false if it did not. Throws Failure. */
async function readListUntil(ids: readonly string[], workspaceId: string, ctx: RetryPorts): Promise<boolean> {
  const missing = new Set(ids);
  const deadlineAt = Math.min(ctx.deadlineAt, ctx.api.timing.clockMs() + MAX_MS);
  let cursor: string | null | undefined;
  for (let pages = 0; pages < MAX_PAGES && cursor !== null; pages++) {
    const query = { workspaceId, limit: MAX_PAGE, ...(cursor !== undefined && { cursor }) };
    const { data, page } = (await ctx.api.call(listMicJobs, { query }, { ...ctx, deadlineAt })).value;
    ctx.retries.remember(data);
    for (const { id } of data) missing.delete(id);
    if (missing.size === 0) return true;
    cursor = page.nextCursor;
  }
  return false;
}

/**
 * Reads a page of the job list, and the retries of its jobs. If one of them may have been retried, and this process has not read all jobs
 * before the page, this function reads them. If it cannot, `retries` has those that are known. Throws Failure.
 */
export async function readJobPage(query: Query, ctx: RetryPorts) {
  const answer = await ctx.api.call(listMicJobs, { query }, ctx);
  const { data, page } = answer.value;
  // Any other parameter is a filter: it leaves out jobs, and so the retries of other jobs.
  const { workspaceId, cursor, limit: _, ...filters } = query;
  const { retries } = ctx;
  retries.remember(data);
  const isFiltered = Object.values(filters).some((value) => value !== undefined);
  const isComplete = !isFiltered && retries.hasReached(workspaceId, cursor);
  const uncertain = data.filter((job) => mayBeRetried(job) && retries.get(job.id) === undefined);
  const wasRead =
    !isComplete &&
    uncertain.length > 0 &&
    (await readListUntil(
      uncertain.map(({ id }) => id),
      workspaceId,
      ctx,
    ).catch((error: unknown) => {
      const failure = toStepFailure(error, ctx);
      if (ctx.signal.aborted) throw failure;
      return false;
    }));
  if (isComplete || (wasRead && !isFiltered))
    for (const reached of [cursor ?? null, page.nextCursor]) retries.reach(workspaceId, reached);
  return { ...answer, retries: { retryOf: retries.get } satisfies Retries };
}
