// This module defines retry_jobs, which retries several jobs and waits for the new ones. Each retry is the same action as that of retry_job, so
// a repeated call retries no job twice.
import * as z from "zod/v4";
import { listMicJobs, retryMicJob } from "../src/contract/endpoints/job-processing.ts";
import type { Job } from "../src/contract/jobs.ts";
import { countPart, groupByKey, tally } from "../src/core/counts.ts";
import type { Failure } from "../src/core/failure.ts";
import { AGENT, forReader, raw, render, say, type Text } from "../src/core/text.ts";
import { formatToken } from "../src/core/untrusted-text.ts";
import {
  jobIds,
  keyArgument,
  LONG_WAIT_SECONDS,
  longWaitSeconds,
  MAX_JOBS,
  reasonText,
  retryModeText,
  stringValidatedBy,
  view,
} from "../src/toolkit/arguments.ts";
import { defineTool } from "../src/toolkit/define-tool.ts";
import {
  isJobInProgress,
  NOT_RETRYABLE,
  REJECTED_IN_REVIEW,
  summarizeJob,
  TERMINAL_STATES,
} from "../src/toolkit/describe/job.ts";
import { missingIdNote } from "../src/toolkit/id-hints.ts";
import {
  type Bulk,
  type BulkRow,
  type RowOutcome,
  runActions,
  runRows,
  type SingleResult,
  startBulk,
} from "../src/toolkit/jobs/bulk.ts";
import { actionsResult } from "../src/toolkit/jobs/bulk-results.ts";
import { jobFilter } from "../src/toolkit/jobs/find-jobs.ts";
import { findKnownRetry } from "../src/toolkit/jobs/job-history.ts";
import {
  ALREADY_RETRIED,
  confirmRestarts,
  findSkippedRow,
  GIVEN_UP,
  type RetryManyArguments,
  type Selection,
  selectJobs,
} from "../src/toolkit/jobs/retry-selection.ts";
import { retryJob } from "../src/toolkit/jobs/retrying.ts";
import { retryFailedStep, watchJobs } from "../src/toolkit/jobs/waiting.ts";
import { outputs } from "../src/toolkit/outputs.ts";
import type { ToolContext } from "../src/toolkit/tool-context.ts";

const input = z
  .strictObject({
    jobIds: jobIds.optional(),
    workspaceId: stringValidatedBy(listMicJobs.query.shape.workspaceId).optional(),
    createdSince: jobFilter.createdSince,
    failureCode: z.string().max(256).describe("Only failures with this code.").optional(),
    limit: z.int().min(1).max(MAX_JOBS).describe(`Default ${MAX_JOBS}.`).optional(),
    retryMode: retryMicJob.body.shape.retryMode.describe(retryModeText),
    reason: stringValidatedBy(retryMicJob.body.shape.reason).describe(reasonText),
    waitSeconds: longWaitSeconds,
    view,
    ...keyArgument("text"),
  })
  .refine((args) => (args.jobIds === undefined) !== (args.createdSince === undefined), {
    path: ["jobIds"],
    error: "give either jobIds or createdSince",
    params: { code: "CONFLICT" },
  })
  .refine(
    ({ jobIds: ids, failureCode, limit }) => ids === undefined || (failureCode === undefined && limit === undefined),
    {
      path: ["jobIds"],
      error: "excludes failureCode and limit, which go with createdSince",
    },
  )
  .refine(({ createdSince, workspaceId }) => createdSince === undefined || workspaceId !== undefined, {
    path: ["workspaceId"],
  })
  .refine(({ createdSince, retryMode }) => createdSince === undefined || retryMode === "SAFE_RESUME", {
    path: ["retryMode"],
    error: "must be SAFE_RESUME with createdSince; RESTART needs jobIds",
  });

const OUTCOMES = { done: "retried", refused: "rejected", unknown: "unknown", "not sent": "not sent" } as const;

async function cellsOf(jobId: string, outcome: RowOutcome, failure: Failure | undefined, ctx: ToolContext) {
  const row = { jobId, outcome: OUTCOMES[outcome] };
  if (!failure) return row;
  const { status, code, kind, next, idempotencyKey } = failure.facts;
  const retry = status === 409 ? (await findKnownRetry(jobId, ctx))?.id : undefined;
  const advice = status === 409 && retry === undefined && outcome === "refused" ? next : undefined;
  const note = missingIdNote(failure.facts, { jobId }, ctx) ?? (advice && render(advice, AGENT));
  return {
    ...row,
    ...(retry !== undefined && { newJobId: retry }),
    code: code ?? kind.toUpperCase(),
    ...(note !== undefined && { note }),
    ...(outcome === "unknown" && idempotencyKey !== undefined && { idempotencyKey }),
  };
}

/** Retries the jobs, at most 4 at a time. Those that must be skipped are determined before any request is sent. */
async function retryEach({ jobs }: Selection, args: RetryManyArguments, bulk: Bulk): Promise<readonly BulkRow[]> {
  const { retryMode, reason, idempotencyKey } = args;
  const byId = new Map(jobs.map((job) => [job.id, job]));
  const ids = [...byId.keys()];
  const skipped = await runRows<{ readonly row: SingleResult | undefined; readonly failure?: Failure }>(ids, {
    stopRule: bulk.stopRule,
    work: async (id) => ({ row: await findSkippedRow(byId.get(id) ?? { id }, args, bulk) }),
  });
  return await runActions(
    {
      ...{ tool: "retry_job", ids, idempotencyKey },
      async single(jobId, key, ctx) {
        const row = skipped.get(jobId)?.row;
        if (row) return row;
        const made = await retryJob({ jobId, retryMode, reason, idempotencyKey: key, isDerivedKey: true }, ctx);
        const { replay, data: job } = made;
        const isOtherMode = replay && replay.earlier.arguments["retryMode"] !== retryMode;
        // A finding exists if no response shows that a call of this journal made the retry.
        const note =
          replay?.finding ?? (isOtherMode ? render(say`The first retry had ${replay.notes}.`, AGENT) : undefined);
        const cells = { jobId, outcome: "retried", newJobId: job.id };
        if (note === undefined) return { made, job, cells: { ...cells, state: job.state } };
        return { outcome: "not sent", cells: { ...cells, outcome: "not sent", code: ALREADY_RETRIED, note } };
      },
      cellsOf: (jobId, outcome, failure) => cellsOf(jobId, outcome, failure, bulk.ctx),
    },
    bulk,
  );
}

/** Adds the state and the output of the new job to the row, and its failure if it failed again. */
function withNewJob(row: BulkRow, job: Job | undefined): BulkRow {
  if (!job) return row;
  const { state, stage, failure } = summarizeJob(job, undefined);
  const { outputDatasetVersionId: output } = job;
  const facts =
    state === "FAILED"
      ? { ...(stage !== undefined && { stage }), ...(failure !== undefined && { code: failure }) }
      : output !== null && { outputDatasetVersionId: output };
  return { ...row, job, cells: { ...row.cells, state, ...facts } };
}

/** Fields that differ in rows of equal outcomes. */
const OWN_FIELDS: ReadonlySet<string> = new Set(["jobId", "newJobId", "outputDatasetVersionId"]);

/** Groups rows of equal outcomes. A group names its jobs if they need a decision; the outcome of a single job is a row. */
function groupRows(rows: readonly BulkRow[]): readonly BulkRow["cells"][] {
  const keyed = rows.map(({ cells }) => {
    const common = Object.fromEntries(Object.entries(cells).filter(([name]) => !OWN_FIELDS.has(name)));
    return [JSON.stringify(common), { common, cells }] as const;
  });
  return [...groupByKey(keyed).values()].map((equal) => {
    const [first = {}] = equal.map(({ cells }) => cells);
    const [common] = equal.map((each) => each.common);
    if (equal.length === 1) return first;
    const group = { ...common, count: equal.length };
    // Jobs that succeeded or are in progress need no decision.
    const isDecided = first["outcome"] === "retried" && first["state"] !== "FAILED";
    return isDecided ? group : { ...group, jobIds: equal.map(({ cells }) => cells["newJobId"] ?? cells["jobId"]) };
  });
}

/** Returns what to do about a job that was given up. `reason`: that of `giveUpReason`. */
function givenUpText(reason: unknown): Text {
  if (reason === NOT_RETRYABLE)
    return say`Not retryable: the API refuses to retry them; get_job shows what to correct before a new job.`;
  if (reason === REJECTED_IN_REVIEW)
    return say`Rejected in review: ${forReader("ask the user before you", "read the review before you")} submit another job.`;
  return say`GIVEN_UP: another retry will most likely fail too; ${forReader("ask the user to ", "")}contact the operator. retry_job retries one of them anyway.`;
}

/** "Retried 10 of 12: 10 SUCCEEDED." */
function countsText(rows: readonly BulkRow[]): Text {
  if (rows.length === 0) return say`No job to retry.`;
  const made = rows.filter(({ outcome }) => outcome === "done");
  const states = made.flatMap(({ cells: { state, stage } }) => (stage ? `${state} at ${stage}` : (state ?? [])));
  return say`Retried ${made.length} of ${rows.length}${states.length > 0 && say`: ${raw(tally(states.map(String)))}`}.`;
}

/** "Other jobs: 2 rejected (JOB_NOT_RETRYABLE).", and what to do about those that were given up or left out. */
function otherJobsSentences(rows: readonly BulkRow[], { retries, remaining, missingText }: Selection) {
  const others = rows.filter(({ outcome }) => outcome !== "done").map(({ cells }) => cells);
  const labels = others.map(({ outcome, code }) =>
    code === undefined ? outcome : `${outcome} (${formatToken(String(code))})`,
  );
  const failed = retries.filter(({ state }) => TERMINAL_STATES.has(state)).length;
  return [
    others.length > 0 && say`Other jobs: ${raw(tally(labels.map(String)))}.`,
    ...[...new Set(others.flatMap(({ code, note }) => (code === GIVEN_UP ? [note] : [])))].map(givenUpText),
    failed > 0 && say`${countPart(failed, "earlier retry", "earlier retries")} did not succeed.`,
    remaining > 0 && say`${countPart(remaining, "more job matches", "more jobs match")}.`,
    missingText,
  ];
}

/** Groups jobs by state. Each group names at most 50 of them. */
const groupByState = (jobs: readonly Job[]) =>
  [...groupByKey(jobs.map(({ id, state }) => [state, id]))].map(([state, ids]) => ({
    ...{ state, count: ids.length, jobIds: ids.slice(0, MAX_JOBS) },
  }));

const PROMISE = say`no job is retried twice`;

export const retryJobs = defineTool({
  name: "retry_jobs",
  title: "Retry many failed jobs at once",
  description:
    "Retry FAILED or CANCELLED jobs as new jobs, and wait for these. Give jobIds, or createdSince for all worth retrying.",
  searchHint: "rerun or restart all failed jobs",
  effect: "retry",
  input,
  output: outputs.answer({ results: outputs.list }, { notSent: outputs.object, retries: outputs.list }),
  confirm: confirmRestarts,
  async run(args, toolContext) {
    const { waitSeconds = LONG_WAIT_SECONDS, ...again } = args;
    const bulk = startBulk(waitSeconds, toolContext);
    const { ctx } = bulk;
    const selection = await selectJobs(args, ctx);
    const { retries, remaining } = selection;
    const retried = [...(await retryEach(selection, args, bulk)), ...selection.givenUp];
    const known = retried.flatMap(({ outcome, job }) => (outcome === "done" && job ? job : []));
    const options = { until: "all", known, done: selection.jobs.length } as const;
    const ids = known.map(({ id }) => id);
    const watched = ids.length > 0 && bulk.secondsLeft() > 0 ? await watchJobs(ids, options, bulk) : [];
    const newJobs = new Map(watched.map(({ id, job }) => [id, job]));
    const rows = retried.map((row) => withNewJob(row, newJobs.get(row.job?.id ?? "")));
    return await actionsResult(
      rows,
      {
        ...{ noun: "job", argument: "jobIds", verb: "retry", done: "retried", promise: PROMISE },
        counts: countsText(rows),
        sentences: otherJobsSentences(rows, selection),
        ...(args.jobIds === undefined && args.view !== "full" && { format: groupRows }),
        otherFailures: watched.flatMap(({ failure }) => failure ?? []),
        otherJobs: retries,
        more: { retries: groupByState(retries) },
        async nextStep(unfinished) {
          if (unfinished.length > 0 || remaining > 0) {
            const rest = args.jobIds && { jobIds: unfinished };
            const why =
              unfinished.length > 0
                ? say`retries the rest and resolves unknown outcomes; ${PROMISE}`
                : say`retries the other ${remaining}`;
            return { tool: "retry_jobs", arguments: { ...again, ...rest }, why };
          }
          const jobs = [...rows.map(({ job }) => job), ...retries];
          const inProgress = jobs.flatMap((job) => (job && isJobInProgress(job) ? job.id : [])).slice(0, MAX_JOBS);
          if (inProgress.length === 0) return await retryFailedStep(jobs, ctx);
          const why = say`waits for the new jobs that are still in progress`;
          return { tool: "wait_for_jobs", arguments: { jobIds: inProgress }, why };
        },
      },
      bulk,
    );
  },
});
