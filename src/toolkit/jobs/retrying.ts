// This module retries one job, or many jobs in one call. Each of many jobs is a separate retry_job action, so a repeated call retries
// none of them twice.
import type { ActionTraits } from "../../actions/fingerprint.ts";
import { deriveStepKey } from "../../actions/idempotency-keys.ts";
import type { CallerActionDescriptor } from "../../actions/service-actions.ts";
import { type CallContext, type SharedRetryAfter, type Timing, timeLeftMs } from "../../api-client/attempts.ts";
import { retryMicJob } from "../../contract/endpoints/job-processing.ts";
import type { Job } from "../../contract/jobs.ts";
import { Failure, type FailureFacts } from "../../core/failure.ts";
import { formatTable } from "../../core/table.ts";
import { formatToken, quote } from "../../core/untrusted-text.ts";
import { createJobPresenter, findKnownRetry } from "../advice/job.ts";
import { LONG_WAIT_SECONDS } from "../arguments.ts";
import type { ConfirmationPrompt } from "../define-tool.ts";
import { type ActionResult, callText, type NextStep, type ToolResult, toolResult } from "../results.ts";
import { type ActionArguments, runAction } from "../run-action.ts";
import { type JobPorts, type ToolCall, toStepFailure } from "../tool-call.ts";
import type { ToolName } from "../tool-names.ts";
import {
  countsOf,
  formatCount,
  hasTimeToAct,
  mapConcurrently,
  readJob,
  secondsLeft,
  stateSuffix,
  waitFirstText,
  withTimeToAnswer,
} from "./batch.ts";
import { movingIds, watchJobs } from "./waiting.ts";

const RETRY: ToolName = "retry_job";

export const retryTraits: ActionTraits = { aboutArgument: "jobId", identifyingArguments: ["jobId"] };

interface RetryArguments extends ActionArguments {
  readonly jobId: string;
}

/** Retries one job. Throws Failure; if the API rejects the request because of an earlier retry, the error names that retry, if known. */
export async function retryJob(args: RetryArguments, call: ToolCall, ports: JobPorts): Promise<ActionResult<Job>> {
  const { jobId } = args;
  try {
    return await runAction(args, call, ports, {
      endpoint: retryMicJob,
      traits: retryTraits,
      presenter: createJobPresenter(ports),
      readNow: (id) => readJob(id, call, ports),
      findOut: "Look with list_jobs for a job whose retryOfBatchId (view full) is this job.",
      // docs/contract.md, section 3: the new job has the earlier job's id.
      mismatch: ({ id, retryOfBatchId: earlier }) =>
        earlier === jobId
          ? undefined
          : `/data/retryOfBatchId: ${earlier === null ? "null" : quote(earlier)} in job ${quote(id)}, which is no retry of ${quote(jobId)}`,
    });
  } catch (error) {
    if (!(error instanceof Failure) || error.facts.kind !== "conflict" || error.facts.status !== 409) throw error;
    const retry = (await findKnownRetry(jobId, ports))?.id;
    if (retry === undefined) throw error;
    throw error.with({
      message: `${error.facts.message} Job ${formatToken(jobId)} was retried as job ${formatToken(retry)}.`,
      next: `${callText({ tool: "get_job", arguments: { jobId: retry } })} shows how the retry stands.`,
    });
  }
}

interface RetryManyArguments {
  readonly jobIds: readonly string[];
  readonly retryMode: "SAFE_RESUME" | "RESTART";
  readonly reason: string;
  readonly waitSeconds?: number | undefined;
  /** The key of each retry is derived from this key. */
  readonly idempotencyKey?: string | undefined;
}

interface RetryRow {
  readonly jobId: string;
  readonly outcome: "retried" | "rejected" | "unknown" | "not sent";
  readonly newJobId?: string;
  /** The state of the new job. */
  readonly state?: Job["state"];
  readonly code?: string;
  /** Present if the outcome is unknown. */
  readonly idempotencyKey?: string;
}

/** The outcome for one job, and whether a repeated call can help. */
interface RetryResult {
  readonly row: RetryRow;
  /** True if a repeated call for this job may retry it or resolve the outcome. */
  readonly isWorthRepeating?: boolean;
  /** True if an identical call retried the job before, so that nothing was sent now. */
  readonly isReplay?: boolean;
  readonly retryAfterSeconds?: number | undefined;
}

/** Code for a job that is skipped because a retry of it is known. The emulator uses the same code when it rejects such a retry. */
const ALREADY_RETRIED = "ALREADY_RETRIED";
const OUT_OF_TIME = "OUT_OF_TIME";

const actionOf = (
  jobId: string,
  { retryMode, reason, idempotencyKey }: RetryManyArguments,
): CallerActionDescriptor => ({
  tool: RETRY,
  arguments: { jobId, retryMode, reason },
  traits: retryTraits,
  explicitKey: idempotencyKey === undefined ? undefined : deriveStepKey(idempotencyKey, jobId),
  isDerivedKey: true,
});

/** Returns the result for a job that must be skipped; undefined if it can be retried, or if the journal contains this retry. */
async function findSkipReason(
  jobId: string,
  args: RetryManyArguments,
  ports: JobPorts,
): Promise<RetryResult | undefined> {
  if (await ports.actions.findExisting(actionOf(jobId, args))) return undefined;
  // With an explicit key, the agent requests another retry on purpose.
  const retry = args.idempotencyKey === undefined ? await findKnownRetry(jobId, ports) : undefined;
  if (!retry) return undefined;
  const newJobId = retry.id !== undefined && { newJobId: retry.id };
  return { row: { jobId, outcome: "not sent", ...newJobId, code: ALREADY_RETRIED } };
}

function outcomeOf({ sideEffect, status = 0 }: FailureFacts): RetryRow["outcome"] {
  if (sideEffect === "unknown") return "unknown";
  if (sideEffect === "done") return "retried";
  // With these statuses, the API has processed the request and rejected it.
  return status >= 400 && status < 500 && status !== 408 && status !== 429 ? "rejected" : "not sent";
}

async function toFailedResult(jobId: string, { facts }: Failure, ports: JobPorts): Promise<RetryResult> {
  const outcome = outcomeOf(facts);
  const isUnresolved = outcome === "unknown" || outcome === "not sent";
  const retry = facts.status === 409 ? (await findKnownRetry(jobId, ports))?.id : undefined;
  const row: RetryRow = {
    jobId,
    outcome,
    ...(retry !== undefined && { newJobId: retry }),
    code: facts.code ?? facts.kind.toUpperCase(),
    ...(outcome === "unknown" && facts.idempotencyKey !== undefined && { idempotencyKey: facts.idempotencyKey }),
  };
  return { row, isWorthRepeating: isUnresolved && facts.retryable, retryAfterSeconds: facts.retryAfterSeconds };
}

/** Waits until the Retry-After time has passed; returns false if that would be too late for this call. */
async function waitForRetryAfter(pace: SharedRetryAfter, context: CallContext, timing: Timing): Promise<boolean> {
  for (;;) {
    const waitMs = pace.heldUntilAt - timing.now();
    if (!hasTimeToAct({ ...context, deadlineAt: context.deadlineAt - Math.max(0, waitMs) }, timing)) return false;
    if (waitMs <= 0) return true;
    await timing.sleep(waitMs, context.signal);
  }
}

async function retryEach(args: RetryManyArguments, call: ToolCall, ports: JobPorts): Promise<readonly RetryResult[]> {
  const { jobIds, retryMode, reason } = args;
  // Determine which jobs to skip before any request is sent.
  const refused = new Map<string, RetryResult>();
  await mapConcurrently(jobIds, async (jobId) => {
    const why = await findSkipReason(jobId, args, ports);
    if (why) refused.set(jobId, why);
  });
  const sharedRetryAfter: SharedRetryAfter = { heldUntilAt: 0 };
  const context: CallContext = { ...withTimeToAnswer(call.context), sharedRetryAfter };
  const { timing } = ports.service;
  let done = 0;

  async function retry(jobId: string): Promise<RetryResult> {
    const why = refused.get(jobId);
    if (why) return why;
    if (!(await waitForRetryAfter(sharedRetryAfter, context, timing))) {
      const retryAfterSeconds = Math.ceil(Math.max(0, sharedRetryAfter.heldUntilAt - timing.now()) / 1_000);
      return { row: { jobId, outcome: "not sent", code: OUT_OF_TIME }, isWorthRepeating: true, retryAfterSeconds };
    }
    const proposedKey = call.proposedKey === undefined ? undefined : deriveStepKey(call.proposedKey, jobId);
    try {
      const singleCall: ToolCall = { ...call, tool: RETRY, context, proposedKey };
      const { explicitKey: idempotencyKey } = actionOf(jobId, args);
      const retryArguments = { jobId, retryMode, reason, idempotencyKey, isDerivedKey: true };
      const { data, replay } = await retryJob(retryArguments, singleCall, ports);
      const row = { jobId, outcome: "retried", newJobId: data.id, state: data.state } as const;
      return { row, isReplay: replay !== undefined };
    } catch (error) {
      return await toFailedResult(jobId, toStepFailure(error, { context }), ports);
    }
  }

  return await mapConcurrently(jobIds, async (jobId) => {
    const retried = await retry(jobId);
    done += 1;
    call.report({ progress: done, total: jobIds.length, message: `${formatToken(jobId)} ${retried.row.outcome}` });
    return retried;
  });
}

function nextStep(
  all: readonly RetryResult[],
  moving: readonly string[],
  { retryMode, reason, idempotencyKey }: RetryManyArguments,
): NextStep | undefined {
  const again = all.filter(({ isWorthRepeating }) => isWorthRepeating);
  if (again.length > 0) {
    const jobIds = again.map(({ row }) => row.jobId);
    const why = `${waitFirstText(again)}continues with the rest and resolves what is unknown; none is retried twice`;
    const key = idempotencyKey !== undefined && { idempotencyKey };
    return { tool: "retry_jobs", arguments: { jobIds, retryMode, reason, ...key }, why };
  }
  if (moving.length === 0) return undefined;
  const why = "shows how they stand, and waits for what moves";
  return { tool: "wait_for_jobs", arguments: { jobIds: moving }, why };
}

/** "Retried 10 of 12: 10 SUCCEEDED. The others: 2 rejected (JOB_NOT_RETRYABLE)." `replayedCount`: how many were retried before. */
function summaryOf(rows: readonly RetryRow[], replayedCount: number): string {
  const made = rows.filter(({ outcome }) => outcome === "retried");
  const states = made.flatMap(({ state }) => state ?? []);
  const others = rows.filter(({ outcome }) => outcome !== "retried");
  const rest = others.map(({ outcome, code }) => (code === undefined ? outcome : `${outcome} (${formatToken(code)})`));
  const sentences = [
    `Retried ${made.length} of ${rows.length}${states.length > 0 ? `: ${countsOf(states)}` : ""}.`,
    replayedCount > 0 &&
      `Not run again, since an identical call ran before: ${replayedCount === made.length ? "all" : replayedCount} of them.`,
    rest.length > 0 && `The others: ${countsOf(rest)}.`,
  ];
  return sentences.filter(Boolean).join(" ");
}

const COLUMNS = ["jobId", "outcome", "newJobId", "state", "code", "idempotencyKey"] as const;

export async function retryMany(
  args: RetryManyArguments,
  call: ToolCall,
  ports: JobPorts,
): Promise<ToolResult<{ readonly results: readonly RetryRow[] }>> {
  const { timing } = ports.service;
  const startedAt = timing.now();
  const { jobIds, waitSeconds = LONG_WAIT_SECONDS } = args;
  const all = await retryEach(args, call, ports);
  const made = all.flatMap(({ row }) => (row.outcome === "retried" ? (row.newJobId ?? []) : []));
  const seconds = secondsLeft(waitSeconds, startedAt, timing);
  const shouldWait = made.length > 0 && waitSeconds > 0 && timeLeftMs(withTimeToAnswer(call.context), timing) > 0;
  const watched = shouldWait ? await watchJobs(made, { until: "all", seconds, done: jobIds.length }, call, ports) : [];
  const states = new Map(watched.flatMap(({ id, job }) => (job ? [[id, job.state] as const] : [])));
  const results = all.map(({ row }): RetryRow => {
    const state = states.get(row.newJobId ?? "");
    return state === undefined ? row : { ...row, state };
  });
  const replayedCount = all.filter(({ isReplay }) => isReplay).length;
  const rows = results.map((row) => COLUMNS.map((column) => row[column] ?? ""));
  return toolResult(
    call,
    { results },
    {
      summary: summaryOf(results, replayedCount),
      nextStep: nextStep(all, shouldWait ? movingIds(watched) : made, args),
      lines: [formatTable(COLUMNS, rows)],
      isReplay: replayedCount === all.length,
    },
  );
}

/** Reads the jobs that would be restarted, and builds one question for all of them; returns undefined if there are none. */
async function prepareRestartConfirmation(
  args: RetryManyArguments,
  call: ToolCall,
  ports: JobPorts,
): Promise<ConfirmationPrompt | undefined> {
  const named = await mapConcurrently(args.jobIds, async (jobId) => {
    if (await ports.actions.findExisting(actionOf(jobId, args))) return undefined;
    if (await findSkipReason(jobId, args, ports)) return undefined;
    const state = await stateSuffix(jobId, call, ports);
    return state === undefined ? undefined : `${formatToken(jobId)}${state}`;
  });
  if (named.length === 0) return undefined;
  const what = `Run ${formatCount(named.length, "job")} anew from the start?`;
  const text = `${what} The stages they have finished are thrown away: ${named.join(", ")}. The reason given: ${quote(args.reason)}`;
  return { text, resourceVersion: undefined };
}

/** Returns the one question for all jobs that would be restarted; undefined unless `retryMode` is RESTART. */
export const confirmRestarts = (args: RetryManyArguments) =>
  args.retryMode === "RESTART"
    ? {
        actions: args.jobIds.map((jobId) => actionOf(jobId, args)),
        prepare: (call: ToolCall, ports: JobPorts) => prepareRestartConfirmation(args, call, ports),
      }
    : undefined;
