// This module finds out the outcome of old actions by reading jobs, and records what was found. It relies on no clock of this machine and
// on no order of the list of jobs.

import * as z from "zod/v4";
import { deriveRepeatKey } from "../../actions/idempotency-keys.ts";
import type { ActionStatus } from "../../actions/listing.ts";
import type { Job } from "../../contract/jobs.ts";
import { formatCount } from "../../core/counts.ts";
import { Failure, invalidArguments } from "../../core/failure.ts";
import { formatJson, formatToken } from "../../core/untrusted-text.ts";
import { TERMINAL_STATES } from "../describe/job.ts";
import { type ToolContext, toStepFailure } from "../tool-context.ts";
import { readJob } from "./batch.ts";
import { findJobs, MAX_READ, microsOf } from "./find-jobs.ts";

export interface ResolveArguments {
  readonly idempotencyKey?: string;
  /** The user's decision: the job that the action created. */
  readonly jobId?: string;
  /** The user's decision: the action had no effect. */
  readonly outcome?: "none";
  /** Position in the list of jobs at which an earlier call stopped reading. */
  readonly cursor?: string;
}

export interface ResolvedRow {
  readonly tool: string;
  readonly idempotencyKey: string;
  /** The id of the resource that the action is about. */
  readonly targetId: string;
  readonly outcome: "resolved" | "rejected" | "still unknown" | "in progress" | "not resolvable";
  /** The id of the resource that the action created. */
  readonly createdId?: string;
  /** The ids of the jobs that the action may have created. */
  readonly candidates?: readonly string[];
  readonly finding: string;
}

export interface Finding extends Pick<ResolvedRow, "outcome" | "createdId" | "candidates" | "finding"> {
  /** True if a later identical call may find out more. */
  readonly isWorthRepeating?: boolean;
  /** Present if the call with this cursor continues to read. */
  readonly cursor?: string;
  readonly failure?: Failure;
}

/** The parts of the API may have clocks that differ by this much, and a request takes some time to arrive. */
const CLOCK_SLACK_MS = 5 * 60_000;

/** The same, if the API's time of the first attempt is not known: the clock may have been set since, or have another time zone. */
const UNKNOWN_CLOCK_SLACK_MS = 25 * 3_600_000;

/** A list of jobs shows a retry at the latest this time after its request. */
const LIST_DELAY_MS = 5 * 60_000;

/** Maximum number of jobs that one finding names. */
const MAX_CANDIDATES = 20;

export const IN_PROGRESS: Finding = { outcome: "in progress", finding: "Another call is working on it." };

/** Returns the state of an action in the journal, if this call did not resolve it itself. */
export function findingFromJournal(action: ActionStatus | undefined): Finding {
  const made = action?.createdId !== undefined && { createdId: action.createdId };
  switch (action?.state) {
    case "succeeded":
      return { outcome: "resolved", ...made, finding: `Resolved: ${action.finding ?? "it took effect."}` };
    case "rejected": {
      const code = action.code === undefined ? "" : ` (${formatToken(action.code)})`;
      const found = action.finding === undefined ? "" : ` ${action.finding}`;
      return { outcome: "rejected", finding: `Resolved: it did not take effect${code}.${found}` };
    }
    case "in_progress":
      return IN_PROGRESS;
    default:
      return { outcome: "still unknown", finding: "Another process may still work on it.", isWorthRepeating: true };
  }
}

export const stillUnknownFinding = (failure: Failure): Finding => ({
  outcome: "still unknown",
  finding: failure.message,
  isWorthRepeating: failure.facts.retryable,
  failure,
});

/** Records an outcome that was found by reading. If another process recorded one first, returns that one. */
async function recordOutcome(
  { idempotencyKey: key }: ActionStatus,
  { actions }: ToolContext,
  outcome: Parameters<ToolContext["actions"]["recordOutcome"]>[1],
  found: Finding,
): Promise<Finding> {
  return (await actions.recordOutcome(key, outcome)) ? found : findingFromJournal(await actions.find(key));
}

/** Records that the action had no effect. `how`: the clause that says how this was found out. */
async function recordNoEffect(action: ActionStatus, ctx: ToolContext, finding: string, how: string): Promise<Finding> {
  const failure = new Failure({
    kind: "conflict",
    message: `${finding} ${how}`,
    retryable: false,
    sideEffect: "none",
    next: "If it is still wanted, make the call again without idempotencyKey.",
  });
  const found: Finding = { outcome: "rejected", finding: `Resolved: it did not take effect. ${finding}` };
  return await recordOutcome(action, ctx, { finding, failure }, found);
}

const FOUND_BY_READING = "This was found out by reading, after the API's answer was lost.";

/** Reads the job to find out whether it was canceled. Throws Failure if the job cannot be read. */
async function readCancellation(action: ActionStatus, ctx: ToolContext): Promise<Finding> {
  const { id, state } = (await readJob(action.targetId, ctx)).value.data;
  if (state === "CANCELLED") {
    const finding = `Job ${formatToken(id)} was canceled, by this call or by another client.`;
    const failure = new Failure({
      kind: "conflict",
      message: `${finding} ${FOUND_BY_READING}`,
      code: state,
      retryable: false,
      sideEffect: "done",
    });
    const found: Finding = { outcome: "resolved", finding: `Resolved: ${finding}` };
    return await recordOutcome(action, ctx, { finding, failure }, found);
  }
  const finding = `Job ${formatToken(id)} is ${state}.`;
  if (TERMINAL_STATES.has(state)) return await recordNoEffect(action, ctx, finding, FOUND_BY_READING);
  const wait = `wait_for_jobs ${formatJson({ jobIds: [id] })}`;
  const later =
    `It shows whether it was canceled when it has ended: call again after ${wait}. ` +
    `To cancel it now, call cancel_job with idempotencyKey ${deriveRepeatKey(action.idempotencyKey)}.`;
  return { outcome: "still unknown", finding: `${finding} ${later}` };
}

/**
 * The action, the number of jobs that were read before, whether some of them may be the action's, the time of its latest attempt before
 * the first call that read (milliseconds since 1970), the API's cursor.
 */
const Position = z.tuple([z.string(), z.int(), z.boolean(), z.int(), z.string()]);
type Position = z.infer<typeof Position>;

const formatPosition = (position: Position): string => Buffer.from(JSON.stringify(position)).toString("base64url");

/** Throws Failure if the text is not a position for this action. */
export function parsePosition(cursor: string, key: string): Position {
  try {
    const position = Position.parse(JSON.parse(Buffer.from(cursor, "base64url").toString()));
    if (position[0] === key) return position;
  } catch {}
  const message = "is not from a nextStep of resolve_actions for this idempotencyKey";
  throw invalidArguments("resolve_actions refused the cursor.", [{ pointer: "/cursor", code: "CURSOR", message }]);
}

interface JobScan {
  /** The matching jobs, except those that another action of the journal created, oldest first. */
  readonly jobs: readonly Job[];
  /** Number of jobs that were read so far, by this call and those before. */
  readonly readCount: number;
  /** Whether earlier calls found matching jobs. */
  readonly hadMatches: boolean;
  readonly requestId: string;
  /** Milliseconds since the action's latest attempt before the first call that read. Refused repetitions since then had no effect. */
  readonly idleMs: number;
  /** True if the list was read to its end, and no item broke the contract. */
  readonly isComplete: boolean;
  /** Number of items that break the contract. They may be the job that is looked for, so a call with a cursor would not help. */
  readonly leftOutCount: number;
  /** Present if the next call can continue to read with it. */
  readonly cursor: string | undefined;
}

/** Reads the list of jobs from `cursor`. No order of the list is assumed: only its end shows that no job is missing. Throws Failure. */
async function scanJobs(
  { idempotencyKey: key, idleMs }: ActionStatus,
  workspaceId: string,
  matches: (job: Job) => boolean,
  cursor: string | undefined,
  ctx: ToolContext,
): Promise<JobScan> {
  const now = ctx.api.timing.now();
  const [, readBefore, hadMatches, attemptedAt = Math.round(now - idleMs), start] =
    cursor === undefined ? [] : parsePosition(cursor, key);
  const search = { workspaceId, limit: MAX_READ, cursor: start, filter: { matches }, isFull: false };
  const { data, page, jobs, meta, leftOut } = await findJobs(search, ctx);
  const created = await ctx.actions.findManyCreationArguments(data.map(({ id }) => id));
  const found = data
    .filter(({ id }) => !created.has(id))
    .sort((one, other) => (one.createdAt < other.createdAt ? -1 : 1));
  const readCount = (readBefore ?? 0) + jobs.length;
  const hasMatches = (hadMatches ?? false) || found.length > 0;
  return {
    jobs: found,
    readCount,
    hadMatches: hadMatches ?? false,
    requestId: meta.requestId,
    idleMs: now - attemptedAt,
    isComplete: !page.hasMore && leftOut.length === 0,
    leftOutCount: leftOut.length,
    cursor:
      page.nextCursor === null || leftOut.length > 0
        ? undefined
        : formatPosition([key, readCount, hasMatches, attemptedAt, page.nextCursor]),
  };
}

/** Finding for a list that was not read to its end. */
const unfinishedFinding = (text: string, { cursor, leftOutCount }: JobScan): Finding =>
  leftOutCount > 0
    ? {
        outcome: "still unknown",
        finding: `${text} ${formatCount(leftOutCount, "job")} in the list could not be read, because the API's answer breaks its contract.`,
      }
    : {
        outcome: "still unknown",
        finding: `${text} The list has more jobs${cursor === undefined ? ", but the API returned no cursor for them" : ""}.`,
        isWorthRepeating: true,
        cursor,
      };

/** Looks for a retry of the job. Throws Failure if the job or the first page of jobs cannot be read. */
async function readRetry(action: ActionStatus, { cursor }: ResolveArguments, ctx: ToolContext): Promise<Finding> {
  const { targetId } = action;
  const { workspaceId } = (await readJob(targetId, ctx)).value.data;
  const isRetry = ({ retryOfBatchId }: Job): boolean => retryOfBatchId === targetId;
  const scan = await scanJobs(action, workspaceId, isRetry, cursor, ctx);
  const [retry] = scan.jobs;
  if (retry) {
    const finding = `Job ${formatToken(targetId)} was retried as job ${formatToken(retry.id)}, by this call or by another client.`;
    const outcome = { finding, value: { data: retry, meta: { requestId: scan.requestId } }, createdId: retry.id };
    const found: Finding = { outcome: "resolved", createdId: retry.id, finding: `Resolved: ${finding}` };
    return await recordOutcome(action, ctx, outcome, found);
  }
  const finding = `No retry of job ${formatToken(targetId)} was found among ${formatCount(scan.readCount, "job")}.`;
  if (!scan.isComplete) return unfinishedFinding(finding, scan);
  // The list may be behind the write.
  const waitMs = LIST_DELAY_MS - scan.idleMs;
  if (waitMs <= 0) return await recordNoEffect(action, ctx, finding, FOUND_BY_READING);
  const wait = `A list may not show a retry at once: call again in ${Math.ceil(waitMs / MINUTE_MS)} min.`;
  return { outcome: "still unknown", finding: `${finding} ${wait}` };
}

const MINUTE_MS = 60_000;
const formatMinute = (ms: number): string => new Date(ms).toISOString().slice(0, 16).replace("T", " ");

/**
 * Looks for jobs that the action may have created. The API returns neither the inputs nor the parameters of a job, so none is proven to be
 * this action's, and only the user can decide. Throws Failure if the first page of jobs cannot be read.
 */
async function readCandidates(action: ActionStatus, { cursor }: ResolveArguments, ctx: ToolContext): Promise<Finding> {
  const { targetId, idempotencyKey, firstSentAt, firstSentApiAt, attemptsMs } = action;
  const { timing, apiNow, readApiClock } = ctx.api;
  if (firstSentApiAt === null) await readApiClock(ctx);
  const now = timing.now();
  const sentMs = firstSentApiAt ?? firstSentAt + (apiNow() ?? now) - now;
  const slackMs = firstSentApiAt === null ? UNKNOWN_CLOCK_SLACK_MS : CLOCK_SLACK_MS;
  const [fromMs, toMs] = [sentMs - slackMs, sentMs + attemptsMs + slackMs];
  function isCandidate({ retryOfBatchId, recipeVersionId, createdAt }: Job): boolean {
    const createdMs = Number(microsOf(createdAt) / 1000n);
    return retryOfBatchId === null && recipeVersionId === targetId && createdMs >= fromMs && createdMs <= toMs;
  }
  const workspaceId = String(action.arguments["workspaceId"]);
  const scan = await scanJobs(action, workspaceId, isCandidate, cursor, ctx);
  const created = `created between ${formatMinute(fromMs)} and ${formatMinute(toMs + MINUTE_MS)} UTC`;
  const candidates = scan.jobs.slice(0, MAX_CANDIDATES).map(({ id }) => id);
  const names = candidates.map((id) => formatToken(id)).join(", ");
  const more = scan.jobs.length > candidates.length ? ` and ${scan.jobs.length - candidates.length} more` : "";
  const decide = (decision: object): string => `resolve_actions ${formatJson({ idempotencyKey, ...decision })}`;
  const question =
    `Ask the user to decide which job is this call's. Then call ${decide({ jobId: candidates[0] ?? "" })} with that job or, ` +
    `if none is, ${decide({ outcome: "none" })}.`;
  const found = `${names}${more}: ${created} with this recipe, each by this call or by another client. ${question}`;
  const among = `No job of this recipe was ${created}, among ${formatCount(scan.readCount, "job")}.`;
  const again = deriveRepeatKey(idempotencyKey);
  const none = scan.hadMatches ? "" : ` If it is still wanted, make the same call again with idempotencyKey ${again}.`;
  const some = candidates.length > 0 && { candidates };
  if (!scan.isComplete) return { ...unfinishedFinding(some ? found : among, scan), ...some };
  return { outcome: "still unknown", finding: some ? found : `${among}${none}`, ...some };
}

export async function resolveByReading(
  action: ActionStatus,
  args: ResolveArguments,
  ctx: ToolContext,
): Promise<Finding> {
  try {
    if (action.tool === "cancel_job") return await readCancellation(action, ctx);
    return await (action.tool === "retry_job" ? readRetry : readCandidates)(action, args, ctx);
  } catch (error) {
    return stillUnknownFinding(toStepFailure(error, ctx));
  }
}

/** Throws Failure unless this action may have created this job. */
async function readDecidedJob(action: ActionStatus, jobId: string, ctx: ToolContext) {
  const { data: job, meta } = (await readJob(jobId, ctx)).value;
  const created = await ctx.actions.findManyCreationArguments([jobId]);
  const isPossible =
    action.tool === "submit_job"
      ? job.retryOfBatchId === null && job.recipeVersionId === action.targetId
      : action.tool === "retry_job" && job.retryOfBatchId === action.targetId;
  if (isPossible && !created.has(jobId)) return { data: job, meta };
  const message = `cannot be the job of this ${formatToken(action.tool)}: it has another origin`;
  throw invalidArguments("resolve_actions recorded nothing.", [{ pointer: "/jobId", code: "OTHER_ORIGIN", message }]);
}

/** Records the user's decision. Throws Failure if the job cannot be this action's. */
export async function recordDecision(
  action: ActionStatus,
  jobId: string | undefined,
  ctx: ToolContext,
): Promise<Finding> {
  if (jobId === undefined)
    return await recordNoEffect(action, ctx, "The user decided this.", "No answer of the API shows it.");
  const value = await readDecidedJob(action, jobId, ctx);
  const finding = `The user decided that job ${formatToken(jobId)} is the job of this call.`;
  const found: Finding = { outcome: "resolved", createdId: jobId, finding: `Resolved: ${finding}` };
  return await recordOutcome(action, ctx, { finding, value, createdId: jobId }, found);
}
