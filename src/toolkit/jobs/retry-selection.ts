// This module selects the jobs that retry_jobs retries: it skips those that were retried before, and those that another retry will not help.
import * as z from "zod/v4";
import type { ActionDescriptor } from "../../actions/actions.ts";
import { deriveStepKey } from "../../actions/idempotency-keys.ts";
import { timeLeftMs } from "../../api-client/attempts.ts";
import { listMicJobs, retryMicJob } from "../../contract/endpoints/job-processing.ts";
import type { Job } from "../../contract/jobs.ts";
import { countPart, tallyText } from "../../core/counts.ts";
import { join, say, type Text } from "../../core/text.ts";
import {
  jobIds,
  keyArgument,
  longWaitSeconds,
  MAX_JOBS,
  reasonText,
  retryModeText,
  stringValidatedBy,
} from "../arguments.ts";
import { type GiveUpReason, giveUpReason } from "../describe/job.ts";
import { BROKEN_LIST } from "../pages.ts";
import { type ToolContext, toStepFailure } from "../tool-context.ts";
import { readJob, readState } from "./batch.ts";
import { type Bulk, type BulkRow, createStopRule, type SingleResult } from "./bulk.ts";
import { confirmJobs } from "./canceling.ts";
import { type FoundJobs, findJobs, isInPeriod, isSince, jobFilter, MAX_READ } from "./find-jobs.ts";
import { findKnownRetry, readJobHistory } from "./job-history.ts";
import { retryTraits } from "./retrying.ts";

/** Names the jobs by id, or selects failed jobs by their time and failure. The key of each retry is derived from the key of the call. */
export const retryManyInput = z
  .strictObject({
    jobIds: jobIds.optional(),
    workspaceId: stringValidatedBy(listMicJobs.query.shape.workspaceId).optional(),
    createdSince: jobFilter.createdSince,
    createdBefore: jobFilter.createdBefore,
    failureCode: z.string().max(256).describe("Only this code.").optional(),
    limit: z.int().min(1).max(MAX_JOBS).describe(`Default ${MAX_JOBS}.`).optional(),
    retryMode: retryMicJob.body.shape.retryMode.describe(retryModeText),
    reason: stringValidatedBy(retryMicJob.body.shape.reason).describe(reasonText),
    waitSeconds: longWaitSeconds,
    ...keyArgument("text"),
  })
  .refine((args) => (args.jobIds === undefined) !== (args.createdSince === undefined), {
    path: ["jobIds"],
    error: "give either jobIds or createdSince",
    params: { code: "CONFLICT" },
  })
  .refine(
    ({ jobIds: ids, createdBefore, failureCode, limit }) =>
      ids === undefined || [createdBefore, failureCode, limit].every((value) => value === undefined),
    {
      path: ["jobIds"],
      error: "excludes createdBefore, failureCode and limit, which go with createdSince",
    },
  )
  .refine(({ createdSince, workspaceId }) => createdSince === undefined || workspaceId !== undefined, {
    path: ["workspaceId"],
  })
  .refine(({ createdSince, retryMode }) => createdSince === undefined || retryMode === "SAFE_RESUME", {
    path: ["retryMode"],
    error: "must be SAFE_RESUME with createdSince; RESTART needs jobIds",
  });

export type RetryManyArguments = z.output<typeof retryManyInput>;

/** Code for a job that is skipped because a retry of it is known. The emulator uses the same code when it rejects such a retry. */
export const ALREADY_RETRIED = "ALREADY_RETRIED";

const givenUpRow = ({ id, state }: Job, { code, note }: GiveUpReason): BulkRow => ({
  ...{ id, outcome: "not sent", note },
  cells: { jobId: id, outcome: "not sent", state, code },
});

/** A job of a call; `job` if it was read already. */
interface RequestedJob {
  readonly id: string;
  readonly job?: Job;
}

/** The jobs of a call, and what its filter left out. */
export interface Selection {
  readonly jobs: readonly RequestedJob[];
  readonly givenUp: readonly BulkRow[];
  /** The retries of matching jobs, except those that succeeded. A filter never selects retries, so no call retries a job that it has created. */
  readonly retries: readonly Job[];
  /** Number of jobs that match, but exceed the limit. */
  readonly remaining: number;
  /** A sentence if not all jobs were read. */
  readonly missingText?: Text | false;
  /** Why the filter selects no job; undefined if that is obvious. */
  readonly noneText?: Text | undefined;
}

/** "2 FAILED jobs are not retryable (INPUT_ROWS_INVALID)." `failed`: the jobs of the period that failed. */
function explainNone(failed: readonly Job[], { retries }: FoundJobs, code: string | undefined): Text {
  const codesOf = (jobs: readonly Job[]): Text => tallyText(jobs.map(({ failure }) => failure?.code ?? "NO_CODE"));
  if (failed.length === 0) return say`No job of this period FAILED.`;
  const matching = failed.filter(({ failure }) => code === undefined || failure?.code === code);
  if (matching.length === 0) return say`No failure of this period has the code ${code}. There are: ${codesOf(failed)}.`;
  const final = matching.filter(({ failure }) => failure?.retryable !== true);
  const retried = matching.filter(({ id }) => retries.retryOf(id) !== undefined).length;
  return join([
    final.length > 0 && say`Not retryable: ${codesOf(final)}.`,
    retried > 0 && say`${countPart(retried, "job was", "jobs were")} retried before.`,
  ]);
}

/** Selects the named jobs, or the failed jobs that match the filter and were not retried. Throws Failure. */
export async function selectJobs(
  { jobIds, workspaceId = "", createdSince, createdBefore, failureCode, limit = MAX_JOBS }: RetryManyArguments,
  ctx: ToolContext,
): Promise<Selection> {
  if (jobIds) return { jobs: [...new Set(jobIds)].map((id) => ({ id })), givenUp: [], retries: [], remaining: 0 };
  const period = { createdSince, createdBefore };
  const filter = { ...period, failure: failureCode, unretried: true };
  // The progress of the call counts retries and new jobs.
  const reading = { ...ctx, report: () => undefined };
  const found = await findJobs({ workspaceId, limit: MAX_READ, filter, isFull: false }, reading);
  const jobs = found.data.filter(({ retryOfBatchId }) => retryOfBatchId === null);
  const byId = new Map(found.jobs.map((job) => [job.id, job]));
  const isRetryOfMatch = ({ id, retryOfBatchId, createdAt }: Job): boolean => {
    if (retryOfBatchId === null || found.retries.retryOf(id) !== undefined) return false;
    const earlier = byId.get(retryOfBatchId);
    return (
      isSince(createdAt, createdSince) &&
      (createdBefore === undefined || (earlier !== undefined && isInPeriod(earlier, period))) &&
      (failureCode === undefined || earlier?.failure?.code === failureCode)
    );
  };
  const isMissing = found.ended !== undefined || found.page.hasMore;
  const failed = found.jobs.filter(
    (job) => job.state === "FAILED" && job.retryOfBatchId === null && isInPeriod(job, period),
  );
  return {
    noneText: jobs.length === 0 && found.givenUp.length === 0 ? explainNone(failed, found, failureCode) : undefined,
    jobs: jobs.slice(0, limit).map((job) => ({ id: job.id, job })),
    givenUp: found.givenUp
      .filter(({ job }) => job.retryOfBatchId === null)
      .slice(0, MAX_JOBS)
      .map(({ job, reason }) => givenUpRow(job, reason)),
    retries: found.jobs.filter((job) => isRetryOfMatch(job) && job.state !== "SUCCEEDED"),
    remaining: Math.max(0, jobs.length - limit),
    missingText:
      isMissing &&
      say`Only ${countPart(found.read.jobs, "job")} could be read. ${found.isLoop ? BROKEN_LIST : say`list_jobs with unretried finds the others.`}`,
  };
}

const actionOf = (jobId: string, { retryMode, reason, idempotencyKey }: RetryManyArguments): ActionDescriptor => ({
  tool: "retry_job",
  arguments: { jobId, retryMode, reason },
  traits: retryTraits,
  explicitKey: idempotencyKey === undefined ? undefined : deriveStepKey(idempotencyKey, jobId),
  isDerivedKey: true,
});

/** The time to read jobs before they are retried is the time of the call divided by this number. */
const READ_SHARE = 3;

/** Returns the row of a job that must be skipped; undefined if it can be retried, or if the journal contains this retry. */
export async function findSkippedRow(
  { id: jobId, job: known }: RequestedJob,
  args: RetryManyArguments,
  { ctx, stopRule }: Pick<Bulk, "ctx" | "stopRule">,
): Promise<SingleResult | undefined> {
  if (await ctx.actions.findExisting(actionOf(jobId, args))) return undefined;
  // With an explicit key, the agent requests another retry on purpose.
  const retry = args.idempotencyKey === undefined ? await findKnownRetry(jobId, ctx) : undefined;
  if (retry) {
    const newJobId = retry.id !== undefined && { newJobId: retry.id };
    return { outcome: "not sent", cells: { jobId, outcome: "not sent", ...newJobId, code: ALREADY_RETRIED } };
  }
  // If the job cannot be read, the API decides. A read without a response leaves time for the retry.
  const { timing } = ctx.api;
  const deadlineAt = timing.clockMs() + timeLeftMs(ctx, timing) / READ_SHARE;
  const answer = known
    ? undefined
    : await readJob(jobId, { ...ctx, deadlineAt }).catch((error: unknown) => {
        const failure = toStepFailure(error, ctx);
        // An application may be allowed to retry jobs, but not to read them.
        if (failure.facts.status !== 403) stopRule.observe(jobId, failure);
        return undefined;
      });
  const job = known ?? answer?.value.data;
  const reason = job && giveUpReason(job, await readJobHistory(job, ctx));
  return reason && givenUpRow(job, reason);
}

/** Returns the one question for all jobs that would be restarted; undefined unless `retryMode` is RESTART. */
export const confirmRestarts = (args: RetryManyArguments) =>
  args.retryMode === "RESTART"
    ? confirmJobs({
        reason: args.reason,
        actions: new Map(args.jobIds?.map((jobId) => [jobId, actionOf(jobId, args)])),
        async stateOf(id, ctx) {
          const skipped = await findSkippedRow({ id }, args, { ctx, stopRule: createStopRule() });
          return skipped ? undefined : await readState(id, ctx);
        },
        question: (jobs) => `Run ${jobs} again from the start? Their finished stages are discarded`,
      })
    : undefined;
