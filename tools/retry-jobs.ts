// This module defines retry_jobs, which retries several jobs and waits for the new ones. Each retry is the same action as that of retry_job, so
// a repeated call retries no job twice.
import type { Job } from "../src/contract/jobs.ts";
import { countPart, tally } from "../src/core/counts.ts";
import type { Failure } from "../src/core/failure.ts";
import { forReader, raw, say, type Text } from "../src/core/text.ts";
import { LONG_WAIT_SECONDS, MAX_JOBS } from "../src/toolkit/arguments.ts";
import { defineTool } from "../src/toolkit/define-tool.ts";
import { isJobInProgress, summarizeJob, TERMINAL_STATES } from "../src/toolkit/describe/job.ts";
import {
  type Bulk,
  type BulkRow,
  runActions,
  runRows,
  type SingleResult,
  startBulk,
} from "../src/toolkit/jobs/bulk.ts";
import { actionsResult, failedRow, groupRows, outcomeLabel } from "../src/toolkit/jobs/bulk-results.ts";
import { findKnownRetry } from "../src/toolkit/jobs/job-history.ts";
import {
  ALREADY_RETRIED,
  confirmRestarts,
  findSkippedRow,
  type RetryManyArguments,
  retryManyInput,
  type Selection,
  selectJobs,
} from "../src/toolkit/jobs/retry-selection.ts";
import { retryJob } from "../src/toolkit/jobs/retrying.ts";
import { retryFailedStep, watchJobs } from "../src/toolkit/jobs/waiting.ts";
import { outputs } from "../src/toolkit/outputs.ts";

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
        const finding = replay?.finding === undefined ? undefined : say`${raw(replay.finding)}`;
        const note = finding ?? (isOtherMode ? say`The first retry had ${replay.notes}.` : undefined);
        const cells = { jobId, outcome: "retried", newJobId: job.id };
        if (note === undefined) return { made, job, cells: { ...cells, state: job.state } };
        return { outcome: "not sent", note, cells: { ...cells, outcome: "not sent", code: ALREADY_RETRIED } };
      },
      async failedRow(jobId, outcome, failure) {
        const newJobId = failure?.facts.status === 409 ? (await findKnownRetry(jobId, bulk.ctx))?.id : undefined;
        return failedRow({ jobId, ...(newJobId !== undefined && { newJobId }) }, outcome, failure);
      },
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

/** What to do about jobs that are not retried, by the code of their rows. */
const GIVE_UP_TEXTS: ReadonlyMap<unknown, Text> = new Map([
  ["NOT_RETRYABLE", say`Not retryable: the API refuses to retry them; get_job shows what to correct before a new job.`],
  [
    "REJECTED_IN_REVIEW",
    say`Rejected in review: ${forReader("ask the user before you", "read the review before you")} submit another job.`,
  ],
  [
    "GIVEN_UP",
    say`GIVEN_UP: another retry will most likely fail too; ${forReader("ask the user to ", "")}contact the operator. retry_job retries one of them anyway.`,
  ],
]);

/** "Retried 10 of 12: 10 SUCCEEDED." */
function countsText(rows: readonly BulkRow[]): Text {
  if (rows.length === 0) return say`No job to retry.`;
  const made = rows.filter(({ outcome }) => outcome === "done");
  const states = made.flatMap(({ cells: { state, stage } }) => (stage ? `${state} at ${stage}` : (state ?? [])));
  return say`Retried ${made.length} of ${rows.length}${states.length > 0 && say`: ${raw(tally(states.map(String)))}`}.`;
}

/** "Other jobs: 2 rejected (JOB_NOT_RETRYABLE).", and what to do about those that were given up or left out. */
function otherJobsSentences(rows: readonly BulkRow[], { retries, remaining, missingText, noneText }: Selection) {
  const others = rows.filter(({ outcome }) => outcome !== "done");
  const failed = retries.filter(({ state }) => TERMINAL_STATES.has(state)).length;
  return [
    noneText,
    others.length > 0 && say`Other jobs: ${raw(tally(others.map(outcomeLabel)))}.`,
    ...[...new Set(others.map(({ cells: { code } }) => GIVE_UP_TEXTS.get(code)))],
    failed > 0 && say`${countPart(failed, "earlier retry", "earlier retries")} did not succeed.`,
    remaining > 0 && say`${countPart(remaining, "more job matches", "more jobs match")}.`,
    missingText,
  ];
}

export const retryJobs = defineTool({
  name: "retry_jobs",
  title: "Retry many failed jobs at once",
  description:
    "Retry FAILED or CANCELLED jobs as new jobs, and wait for these. Give jobIds, or createdSince for all worth retrying.",
  searchHint: "rerun or restart all failed jobs",
  effect: "retry",
  input: retryManyInput,
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
        ...{ noun: "job", argument: "jobIds", verb: "retry", done: "retried", promise: say`no job is retried twice` },
        counts: countsText(rows),
        sentences: otherJobsSentences(rows, selection),
        format: (shown) => groupRows(shown, args.jobIds === undefined),
        otherFailures: watched.flatMap(({ failure }) => failure ?? []),
        otherJobs: retries,
        more: { retries: groupRows(retries.map(({ id, state }) => ({ cells: { state, jobId: id } }))) },
        again: { tool: "retry_jobs", arguments: again },
        async nextStep() {
          if (remaining > 0) return { tool: "retry_jobs", arguments: again, why: say`retries the other ${remaining}` };
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
