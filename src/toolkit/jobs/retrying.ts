// This module retries one job, or many jobs in one call. Each of many jobs is a separate retry_job action, so a repeated call retries
// none of them twice.

import type { ActionDescriptor } from "../../actions/actions.ts";
import { identifies, type TraitsOf } from "../../actions/fingerprint.ts";
import { deriveStepKey } from "../../actions/idempotency-keys.ts";
import { type CallContext, type SharedRetryAfter, type Timing, timeLeftMs } from "../../api-client/attempts.ts";
import { retryMicJob } from "../../contract/endpoints/job-processing.ts";
import type { Job } from "../../contract/jobs.ts";
import { formatCount, groupByKey, tally } from "../../core/counts.ts";
import { Failure, type FailureFacts } from "../../core/failure.ts";
import { formatRecordTable } from "../../core/table.ts";
import { AGENT, render } from "../../core/text.ts";
import type { ToolName } from "../../core/tool-names.ts";
import { formatToken, quote } from "../../core/untrusted-text.ts";
import { LONG_WAIT_SECONDS, MAX_JOBS } from "../arguments.ts";
import type { ConfirmationPrompt } from "../define-tool.ts";
import {
  giveUpReason,
  jobStatus,
  NOT_RETRYABLE,
  REJECTED_IN_REVIEW,
  retryRefusalText,
  summarizeJob,
  TERMINAL_STATES,
} from "../describe/job.ts";
import { missingIdNote } from "../id-hints.ts";
import { BROKEN_LIST } from "../pages.ts";
import {
  type ActionResult,
  callText,
  type NextStep,
  type Replay,
  type ToolResult,
  toolResult,
  type View,
} from "../results.ts";
import { type ActionArguments, runAction } from "../run-action.ts";
import { type ToolContext, toStepFailure } from "../tool-context.ts";
import {
  hasTimeToAct,
  MIN_ACTION_MS,
  mapConcurrently,
  readJob,
  secondsLeft,
  stateSuffix,
  withWaitLimit,
} from "./batch.ts";
import {
  createStopRule,
  isKeyUnused,
  isStopOf,
  laterText,
  replayedText,
  runRows,
  type StopRule,
  stoppedFailure,
  stoppedText,
  unusedKeyText,
} from "./engine.ts";
import { findJobs, MAX_READ } from "./find-jobs.ts";
import { describeJobWith, findKnownRetry, readJobHistory } from "./job-history.ts";
import {
  inProgressIds,
  operatorNeededText,
  retryFailedStep,
  type WatchedJob,
  waitForMadeJob,
  watchJobs,
} from "./waiting.ts";

const RETRY: ToolName = "retry_job";

export const retryTraits: TraitsOf<typeof retryMicJob> = {
  targetArgument: "jobId",
  arguments: { jobId: identifies(), retryMode: "note", reason: "note" },
};

interface RetryArguments extends ActionArguments {
  readonly jobId: string;
}

/** Replaces the advice of a refusal by that for the job's state, if the job can be read. */
async function withStateAdvice(error: Failure, jobId: string, ctx: ToolContext): Promise<Failure> {
  const answer = await readJob(jobId, ctx).catch(() => undefined);
  const next = answer && retryRefusalText(answer.value.data);
  return next === undefined ? error : error.with({ next });
}

/** Retries one job. Throws Failure; if the API rejects the request because of an earlier retry, the error names that retry, if known. */
export async function retryJob(args: RetryArguments, ctx: ToolContext): Promise<ActionResult<Job>> {
  const { jobId } = args;
  try {
    return await runAction(args, ctx, {
      endpoint: retryMicJob,
      traits: retryTraits,
      describe: describeJobWith(ctx),
      status: jobStatus,
      readNow: (id) => readJob(id, ctx),
      findOut: "Look with list_jobs for a job whose retryOfBatchId (view full) is this job.",
    });
  } catch (error) {
    if (!(error instanceof Failure) || error.facts.kind !== "conflict" || error.facts.status !== 409) throw error;
    const retry = (await findKnownRetry(jobId, ctx))?.id;
    if (retry === undefined) throw await withStateAdvice(error, jobId, ctx);
    throw error.with({
      message: `${error.message} Job ${formatToken(jobId)} was retried as job ${formatToken(retry)}.`,
      next: `${callText({ tool: "get_job", arguments: { jobId: retry } })} shows the state of the retry.`,
    });
  }
}

/** Retries one job and waits for the new one. Throws Failure if the retry fails. */
export async function retryAndWait(
  { waitSeconds = 0, ...args }: RetryArguments & { readonly waitSeconds?: number },
  ctx: ToolContext,
): Promise<ToolResult<Job>> {
  const { timing } = ctx.api;
  const startedAt = timing.clockMs();
  const made = await retryJob(args, ctx);
  const seconds = secondsLeft(waitSeconds, startedAt, timing);
  if (seconds <= 0 || ctx.followsTasks === true) return made;
  return await waitForMadeJob(made, seconds, describeJobWith(ctx), ctx);
}

/** Names the jobs by id, or selects failed jobs by their time and failure. */
interface RetryManyArguments {
  readonly jobIds?: readonly string[];
  readonly workspaceId?: string;
  readonly createdSince?: string;
  /** The code of the failure. */
  readonly failureCode?: string;
  /** Maximum number of jobs that a filter selects (default 50). */
  readonly limit?: number;
  readonly retryMode: "SAFE_RESUME" | "RESTART";
  readonly reason: string;
  readonly waitSeconds?: number;
  /** `full`: a row for each job that a filter selects (default: groups of equal outcomes). */
  readonly view?: View;
  /** The key of each retry is derived from this key. */
  readonly idempotencyKey?: string;
}

interface RetryRow {
  readonly jobId: string;
  readonly outcome: "retried" | "rejected" | "unknown" | "not sent";
  readonly newJobId?: string;
  /** The state of the new job, or that of the job itself if it was given up. */
  readonly state?: Job["state"];
  readonly outputDatasetVersionId?: string;
  /** The stage at which the new job failed again. */
  readonly stage?: string;
  /** The code of that failure, or the reason why nothing was retried. */
  readonly code?: string;
  /** A probable mistake in the id, or the reason why the job is given up. */
  readonly note?: string;
  /** Present if the outcome is unknown. */
  readonly idempotencyKey?: string;
}

/** The outcome for one job, and whether a repeated call can help. */
interface RetryResult {
  readonly row: RetryRow;
  /** True if a repeated call for this job may retry it or resolve the outcome. */
  readonly isWorthRepeating?: boolean;
  /** Present if an identical call retried the job before, so that nothing was sent now. */
  readonly replay?: Replay | undefined;
  /** True if an unresolved identical call was resolved under its own key instead. */
  readonly hasUnusedKey?: boolean;
  /** The new job, as the call that retried it returned it. */
  readonly made?: Job;
  readonly failure?: Failure;
}

/** Code for a job that is skipped because a retry of it is known. The emulator uses the same code when it rejects such a retry. */
const ALREADY_RETRIED = "ALREADY_RETRIED";
/** Code for a job that is skipped because `adviseJob` gives up on it. */
const GIVEN_UP = "GIVEN_UP";

const actionOf = (jobId: string, { retryMode, reason, idempotencyKey }: RetryManyArguments): ActionDescriptor => ({
  tool: RETRY,
  arguments: { jobId, retryMode, reason },
  traits: retryTraits,
  explicitKey: idempotencyKey === undefined ? undefined : deriveStepKey(idempotencyKey, jobId),
  isDerivedKey: true,
});

/** The time to read jobs before they are retried is the time of the call divided by this number. */
const READ_SHARE = 3;

/** A job of a call; `job` if it was read already. */
interface RequestedJob {
  readonly id: string;
  readonly job?: Job;
}

const givenUpResult = ({ id: jobId, state }: Job, note: string): RetryResult => ({
  row: { jobId, outcome: "not sent", state, code: GIVEN_UP, note },
});

/** Returns the result for a job that must be skipped; undefined if it can be retried, or if the journal contains this retry. */
async function findSkipReason(
  { id: jobId, job: known }: RequestedJob,
  args: RetryManyArguments,
  stopRule: StopRule,
  ctx: ToolContext,
): Promise<RetryResult | undefined> {
  if (await ctx.actions.findExisting(actionOf(jobId, args))) return undefined;
  // With an explicit key, the agent requests another retry on purpose.
  const retry = args.idempotencyKey === undefined ? await findKnownRetry(jobId, ctx) : undefined;
  if (retry) {
    const newJobId = retry.id !== undefined && { newJobId: retry.id };
    return { row: { jobId, outcome: "not sent", ...newJobId, code: ALREADY_RETRIED } };
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
  return job && reason !== undefined ? givenUpResult(job, reason) : undefined;
}

function outcomeOf({ sideEffect, status = 0 }: FailureFacts): RetryRow["outcome"] {
  if (sideEffect === "unknown") return "unknown";
  if (sideEffect === "done") return "retried";
  // With these statuses, the API has processed the request and rejected it.
  return status >= 400 && status < 500 && status !== 408 && status !== 429 ? "rejected" : "not sent";
}

async function toFailedResult(jobId: string, failure: Failure, ctx: ToolContext): Promise<RetryResult> {
  const { facts } = failure;
  const outcome = outcomeOf(facts);
  const isUnresolved = outcome === "unknown" || outcome === "not sent";
  const retry = facts.status === 409 ? (await findKnownRetry(jobId, ctx))?.id : undefined;
  const advice =
    facts.status === 409 && retry === undefined && outcome === "rejected"
      ? facts.next && render(facts.next, AGENT)
      : undefined;
  const note = missingIdNote(facts, { jobId }, ctx) ?? advice;
  const row: RetryRow = {
    jobId,
    outcome,
    ...(retry !== undefined && { newJobId: retry }),
    code: facts.code ?? facts.kind.toUpperCase(),
    ...(note !== undefined && { note }),
    ...(outcome === "unknown" && facts.idempotencyKey !== undefined && { idempotencyKey: facts.idempotencyKey }),
  };
  return { row, isWorthRepeating: isUnresolved && facts.retryable, failure };
}

/** Waits until the Retry-After time has passed; returns false if the call is aborted, or less than `minMs` of it would remain then. */
async function waitForRetryAfter(
  pace: SharedRetryAfter,
  context: CallContext,
  timing: Timing,
  minMs: number,
): Promise<boolean> {
  for (;;) {
    const waitMs = pace.heldUntilAt - timing.clockMs();
    const afterWait = { ...context, deadlineAt: context.deadlineAt - Math.max(0, waitMs) };
    if (context.signal.aborted || !hasTimeToAct(afterWait, timing, minMs)) return false;
    if (waitMs <= 0) return true;
    await timing.sleep(waitMs, context.signal).catch((error: unknown) => void toStepFailure(error, context));
  }
}

/** The jobs of a call, and what its filter left out. */
interface Selection {
  readonly jobs: readonly RequestedJob[];
  readonly givenUp: readonly RetryResult[];
  /** The retries of matching jobs, except those that succeeded. A filter never selects retries, so no call retries a job that it has created. */
  readonly retries: readonly Job[];
  /** Number of jobs that match, but exceed the limit. */
  readonly remaining: number;
  /** A sentence if not all jobs were read; otherwise an empty string. */
  readonly missingText: string;
}

/** Selects the failed jobs that match the filter and were not retried. Throws Failure. */
async function selectFailedJobs(
  { workspaceId = "", createdSince, failureCode, limit = MAX_JOBS }: RetryManyArguments,
  ctx: ToolContext,
): Promise<Selection> {
  const filter = { createdSince, failure: failureCode, unretried: true };
  // The progress of the call counts retries and new jobs.
  const reading = { ...ctx, report: () => undefined };
  const found = await findJobs({ workspaceId, limit: MAX_READ, filter, isFull: false }, reading);
  const jobs = found.data.filter(({ retryOfBatchId }) => retryOfBatchId === null);
  const byId = new Map(found.jobs.map((job) => [job.id, job]));
  const isRetryOfMatch = ({ id, retryOfBatchId: earlier, createdAt }: Job): boolean =>
    earlier !== null &&
    found.retries.retryOf(id) === undefined &&
    Date.parse(createdAt) >= Date.parse(createdSince ?? "") &&
    (failureCode === undefined || byId.get(earlier)?.failure?.code === failureCode);
  const isMissing = found.ended !== undefined || found.page.hasMore;
  return {
    jobs: jobs.slice(0, limit).map((job) => ({ id: job.id, job })),
    givenUp: found.givenUp
      .filter(({ job }) => job.retryOfBatchId === null)
      .slice(0, MAX_JOBS)
      .map(({ job, reason }) => givenUpResult(job, reason)),
    retries: found.jobs.filter((job) => isRetryOfMatch(job) && job.state !== "SUCCEEDED"),
    remaining: Math.max(0, jobs.length - limit),
    missingText: isMissing
      ? ` Only ${formatCount(found.read.jobs, "job")} could be read. ${found.isLoop ? BROKEN_LIST : "list_jobs with unretried finds the others."}`
      : "",
  };
}

async function retryEach(
  jobs: readonly RequestedJob[],
  args: RetryManyArguments,
  stopRule: StopRule,
  ctx: ToolContext,
): Promise<readonly RetryResult[]> {
  const { retryMode, reason } = args;
  const { timing } = ctx.api;
  const minActionMs = Math.min(MIN_ACTION_MS, timeLeftMs(ctx, timing) / 2);
  const byId = new Map(jobs.map((job) => [job.id, job]));
  const ids = [...byId.keys()];
  // Determine which jobs to skip before any request is sent.
  const skipped = await runRows<{ readonly why: RetryResult | undefined; readonly failure?: Failure }>(ids, {
    stopRule,
    work: async (id) => ({ why: await findSkipReason(byId.get(id) ?? { id }, args, stopRule, ctx) }),
  });
  const sharedRetryAfter: SharedRetryAfter = { heldUntilAt: 0 };
  const own: ToolContext = { ...ctx, tool: RETRY, sharedRetryAfter };

  async function retry(jobId: string): Promise<RetryResult> {
    const why = skipped.get(jobId)?.why;
    if (why) return why;
    const proposedKey = ctx.proposedKey === undefined ? undefined : deriveStepKey(ctx.proposedKey, jobId);
    try {
      const { explicitKey: idempotencyKey } = actionOf(jobId, args);
      const retryArguments = { jobId, retryMode, reason, idempotencyKey, isDerivedKey: true };
      const { data, replay, action } = await retryJob(retryArguments, { ...own, proposedKey });
      const isOtherMode = replay !== undefined && replay.earlier.arguments["retryMode"] !== retryMode;
      // A finding exists if no response shows that a call of this journal made the retry.
      const note = replay?.finding ?? (isOtherMode ? `The first retry had ${replay.notes}.` : undefined);
      if (note !== undefined)
        return { row: { jobId, outcome: "not sent", newJobId: data.id, code: ALREADY_RETRIED, note } };
      const row = { jobId, outcome: "retried", newJobId: data.id, state: data.state } as const;
      return { row, replay, hasUnusedKey: isKeyUnused(idempotencyKey, action), made: data };
    } catch (error) {
      return await toFailedResult(jobId, toStepFailure(error, ctx), ctx);
    }
  }

  const results = await runRows(ids, {
    stopRule,
    mayStart: () => waitForRetryAfter(sharedRetryAfter, ctx, timing, minActionMs),
    work: retry,
    onResult: (jobId, { row }, ended) =>
      ctx.report({ progress: ended, total: jobs.length, message: `${formatToken(jobId)} ${row.outcome}` }),
  });
  const notStarted = (jobId: string): RetryResult => ({ row: { jobId, outcome: "not sent" }, isWorthRepeating: true });
  return ids.map((id) => {
    const result = results.get(id);
    return result && !(isStopOf(stopRule.reason, result.failure) && result.row.outcome !== "unknown")
      ? result
      : notStarted(id);
  });
}

/** The result of a call, before the next step is known. */
interface RetriedJobs extends Selection {
  readonly all: readonly RetryResult[];
  /** The new jobs, as they were last read; undefined if the call did not wait for them. */
  readonly watched: readonly WatchedJob[] | undefined;
  /** The failure that stopped the call. */
  readonly stop: Failure | undefined;
}

const PROMISE = "no job is retried twice";

/** Returns the advice on what to do later, or the call that makes sense at once. */
async function adviceOf(
  { all, watched = [], retries, remaining, stop }: RetriedJobs,
  args: RetryManyArguments,
  ctx: ToolContext,
): Promise<{ readonly later?: string; readonly nextStep?: NextStep | undefined }> {
  const again = all.filter(({ isWorthRepeating }) => isWorthRepeating);
  const failures = [...again, ...watched].flatMap(({ failure }) => failure ?? []);
  // A call at once makes sense if a job was retried in this one, and others were not started.
  const mayContinue = all.some(({ row }) => row.outcome === "retried") && again.some(({ failure }) => !failure);
  const later = laterText({ stop, failures, mayContinue }, PROMISE, ctx);
  if (later !== undefined) return { later };
  const { jobIds, waitSeconds: __, ...others } = args;
  if (again.length > 0 || remaining > 0) {
    const ids = jobIds && { jobIds: again.map(({ row }) => row.jobId) };
    const why =
      again.length > 0
        ? `retries the rest and resolves unknown outcomes; ${PROMISE}`
        : `retries the other ${remaining}`;
    return { nextStep: { tool: "retry_jobs", arguments: { ...ids, ...others }, why } };
  }
  const known = retries.map((job) => ({ id: job.id, job }));
  const made = all.flatMap(({ row: { outcome, state = "", newJobId = [] } }) =>
    outcome === "retried" && !TERMINAL_STATES.has(state) ? newJobId : [],
  );
  const inProgress = [...(watched.length > 0 ? inProgressIds(watched) : made), ...inProgressIds(known)].slice(
    0,
    MAX_JOBS,
  );
  if (inProgress.length === 0) return { nextStep: await retryFailedStep([...watched, ...known], ctx) };
  const why = "waits for the new jobs that are still in progress";
  return { nextStep: { tool: "wait_for_jobs", arguments: { jobIds: inProgress }, why } };
}

/** Returns what to do about a job that was given up. `reason`: that of `giveUpReason`. */
function givenUpText(reason: string): string {
  if (reason === NOT_RETRYABLE)
    return "Not retryable: the API refuses to retry them; get_job shows what to correct before a new job.";
  if (reason === REJECTED_IN_REVIEW) return "Rejected in review: ask the user before you submit another job.";
  return "GIVEN_UP: another retry will most likely fail too; ask the user to contact the operator. retry_job retries one of them anyway.";
}

/** "Retried 10 of 12: 10 SUCCEEDED. Other jobs: 2 rejected (JOB_NOT_RETRYABLE)." */
function summaryOf(
  { all, watched = [], retries, remaining, missingText, stop }: RetriedJobs,
  rows: readonly RetryRow[],
  later: string | undefined,
): string {
  const replays = all.flatMap(({ replay }) => replay ?? []);
  const made = rows.filter(({ outcome }) => outcome === "retried");
  const states = made.flatMap(({ state, stage }) =>
    state === undefined ? [] : stage ? `${state} at ${stage}` : state,
  );
  const others = rows.filter(({ outcome }) => outcome !== "retried");
  const rest = others.map(({ outcome, code }) => (code === undefined ? outcome : `${outcome} (${formatToken(code)})`));
  const failed = retries.filter(({ state }) => TERMINAL_STATES.has(state)).length;
  const sentences = [
    stop && stoppedText(stop),
    rows.length === 0
      ? "No job to retry."
      : `Retried ${made.length} of ${rows.length}${states.length > 0 ? `: ${tally(states)}` : ""}.`,
    replayedText("retried", replays, replays.length === made.length ? "all" : String(replays.length)),
    unusedKeyText(all.filter(({ hasUnusedKey }) => hasUnusedKey).length),
    rest.length > 0 && `Other jobs: ${tally(rest)}.`,
    ...new Set(rows.flatMap(({ code, note = "" }) => (code === GIVEN_UP ? givenUpText(note) : []))),
    failed > 0 && `${formatCount(failed, "earlier retry", "earlier retries")} did not succeed.`,
    remaining > 0 && `${formatCount(remaining, "more job matches", "more jobs match")}.`,
  ];
  const jobs = [...watched.map(({ job }) => job), ...retries];
  return [sentences.filter(Boolean).join(" ") + missingText + operatorNeededText(jobs), later]
    .filter(Boolean)
    .join(" ");
}

/** Groups jobs by state. Each group names at most 50 of them. */
const groupByState = (jobs: readonly Job[]) =>
  [...groupByKey(jobs.map(({ id, state }) => [state, id]))].map(([state, ids]) => ({
    ...{ state, count: ids.length, jobIds: ids.slice(0, MAX_JOBS) },
  }));

/** Fields that differ in rows of equal outcomes. */
const OWN_FIELDS: ReadonlySet<string> = new Set(["jobId", "newJobId", "outputDatasetVersionId"]);

/** Groups rows of equal outcomes. A group names its jobs if they need a decision; the outcome of a single job is a row. */
function groupRows(rows: readonly RetryRow[]): readonly object[] {
  const keyed = rows.map((row) => {
    const common = Object.fromEntries(Object.entries(row).filter(([name]) => !OWN_FIELDS.has(name)));
    return [JSON.stringify(common), { common, row }] as const;
  });
  return [...groupByKey(keyed).values()].flatMap((equal) => {
    const [first, ...others] = equal;
    if (first === undefined) return [];
    if (others.length === 0) return first.row;
    const group = { ...first.common, count: equal.length };
    // Jobs that succeeded or are in progress need no decision.
    const isDecided = first.row.outcome === "retried" && first.row.state !== "FAILED";
    return isDecided ? group : { ...group, jobIds: equal.map(({ row: { jobId, newJobId } }) => newJobId ?? jobId) };
  });
}

/** Adds the state and the output of the new job to the row, and its failure if it failed again. */
function withNewJob(row: RetryRow, job: Job | undefined): RetryRow {
  if (!job) return row;
  const { state, stage, failure } = summarizeJob(job, undefined);
  const { outputDatasetVersionId: output } = job;
  return state === "FAILED"
    ? { ...row, state, ...(stage !== undefined && { stage }), ...(failure !== undefined && { code: failure }) }
    : { ...row, state, ...(output !== null && { outputDatasetVersionId: output }) };
}

export async function retryMany(
  args: RetryManyArguments,
  toolContext: ToolContext,
): Promise<ToolResult<{ readonly results: readonly object[] }>> {
  const { timing } = toolContext.api;
  const startedAt = timing.clockMs();
  const { jobIds, waitSeconds = LONG_WAIT_SECONDS, view } = args;
  const ctx = withWaitLimit(toolContext, waitSeconds);
  const stopRule = createStopRule();
  const selection: Selection = jobIds
    ? { jobs: jobIds.map((id) => ({ id })), givenUp: [], retries: [], remaining: 0, missingText: "" }
    : await selectFailedJobs(args, ctx);
  const all = [...(await retryEach(selection.jobs, args, stopRule, ctx)), ...selection.givenUp];
  const made = all.flatMap(({ row }) => (row.outcome === "retried" ? (row.newJobId ?? []) : []));
  const seconds = stopRule.reason ? 0 : secondsLeft(waitSeconds, startedAt, timing);
  const known = all.flatMap((result) => result.made ?? []);
  const options = { until: "all", seconds, stopRule, known, done: selection.jobs.length } as const;
  const watched = made.length > 0 && seconds > 0 ? await watchJobs(made, options, ctx) : undefined;
  const newJobs = new Map(watched?.map(({ id, job }) => [id, job]));
  const rows = all.map(({ row }) => withNewJob(row, newJobs.get(row.newJobId ?? "")));
  const { reason: stop } = stopRule;
  const retried = { ...selection, all, watched, stop };
  const { later, nextStep } = await adviceOf(retried, args, ctx);
  if (stop && later !== undefined && rows.every(({ outcome }) => outcome === "not sent"))
    throw stoppedFailure(stop, `${formatCount(rows.length, "job was", "jobs were")} not retried.`, later);
  const isStated = ({ outcome, code }: RetryRow): boolean => outcome === "not sent" && code === undefined;
  const others = rows.filter((row) => !isStated(row));
  const results = jobIds || view === "full" ? others.map((row) => ({ ...row })) : groupRows(others);
  const unsent = rows.filter(isStated).map(({ jobId }) => jobId);
  const notSent = unsent.length > 0 ? { count: unsent.length, jobIds: unsent } : undefined;
  const retries = groupByState(selection.retries);
  return toolResult(
    { results },
    {
      summary: summaryOf(retried, rows, later),
      nextStep,
      fields: { results, ...(notSent && { notSent }), ...(retries.length > 0 && { retries }) },
      lines: [
        results.length > 0 ? formatRecordTable(results.map((row) => ({ ...row }))) : undefined,
        notSent && `notSent ${notSent.count}: ${unsent.map((id) => formatToken(id)).join(", ")}`,
        retries.length > 0 ? `retries:\n${formatRecordTable(retries)}` : undefined,
      ],
      isReplay: all.length > 0 && all.every(({ replay }) => replay),
    },
  );
}

/** Reads the jobs that would be restarted, and builds one question for all of them; returns undefined if there are none. */
async function prepareRestartConfirmation(
  args: RetryManyArguments,
  ctx: ToolContext,
): Promise<ConfirmationPrompt | undefined> {
  const named = await mapConcurrently(args.jobIds ?? [], async (jobId) => {
    if (await ctx.actions.findExisting(actionOf(jobId, args))) return undefined;
    if (await findSkipReason({ id: jobId }, args, createStopRule(), ctx)) return undefined;
    const state = await stateSuffix(jobId, ctx);
    return state === undefined ? undefined : `${formatToken(jobId)}${state}`;
  });
  if (named.length === 0) return undefined;
  const what = `Run ${formatCount(named.length, "job")} again from the start?`;
  const text = `${what} Their finished stages are discarded: ${named.join(", ")}. The reason given: ${quote(args.reason)}`;
  return { text, resourceVersion: undefined };
}

/** Returns the one question for all jobs that would be restarted; undefined unless `retryMode` is RESTART. */
export const confirmRestarts = (args: RetryManyArguments) =>
  args.retryMode === "RESTART"
    ? {
        actions: (args.jobIds ?? []).map((jobId) => actionOf(jobId, args)),
        prepare: (ctx: ToolContext) => prepareRestartConfirmation(args, ctx),
      }
    : undefined;
