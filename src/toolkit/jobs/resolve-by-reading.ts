// This module finds out the outcome of old actions by reading jobs, and records what was found. It relies on no clock of this machine and
// on no order of the list of jobs.

import { deriveRepeatKey } from "../../actions/idempotency-keys.ts";
import type { ActionStatus } from "../../actions/listing.ts";
import type { Job } from "../../contract/jobs.ts";
import { countPart } from "../../core/counts.ts";
import { Failure, invalidArguments } from "../../core/failure.ts";
import { AGENT, ask, call, join, own, type Part, raw, render, say, type Text } from "../../core/text.ts";
import { formatToken } from "../../core/untrusted-text.ts";
import { TERMINAL_STATES } from "../describe/job.ts";
import { type ToolContext, toStepFailure } from "../tool-context.ts";
import { readJob } from "./batch.ts";
import { findJobs, microsOf } from "./find-jobs.ts";

/** What is known of an action now, as its row shows it. */
export interface Finding {
  readonly outcome: "resolved" | "rejected" | "still unknown" | "in progress" | "not resolvable";
  /** The id of the resource that the action created. */
  readonly createdId?: string | undefined;
  /** The ids of the jobs that the action may have created. */
  readonly candidates?: readonly string[];
  readonly finding: Text;
  /** True if a later identical call may find out more. */
  readonly isWorthRepeating?: boolean;
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

export const IN_PROGRESS: Finding = { outcome: "in progress", finding: say`Another call is working on it.` };

/** Returns the state of an action in the journal, if this call did not resolve it itself. */
export function findingFromJournal(action: ActionStatus | undefined): Finding {
  const made = action?.createdId !== undefined && { createdId: action.createdId };
  // The journal keeps a finding as an agent has read it.
  const recorded = action?.finding === undefined ? undefined : raw(action.finding);
  switch (action?.state) {
    case "succeeded":
      return { outcome: "resolved", ...made, finding: say`Resolved: ${recorded ?? own("it took effect.")}` };
    case "rejected": {
      const code = action.code !== undefined && say` (${action.code})`;
      return { outcome: "rejected", finding: join([say`Resolved: it did not take effect${code}.`, recorded]) };
    }
    case "in_progress":
      return IN_PROGRESS;
    default:
      return { outcome: "still unknown", finding: say`Another process may still work on it.`, isWorthRepeating: true };
  }
}

export const stillUnknownFinding = (failure: Failure): Finding => ({
  outcome: "still unknown",
  finding: failure.facts.message,
  isWorthRepeating: failure.facts.retryable,
  failure,
});

/**
 * Records an outcome that was found by reading or that the user decided. `finding`: how it was found out. If another process recorded an
 * outcome first, returns that one.
 */
async function recordOutcome(
  { idempotencyKey: key }: ActionStatus,
  { actions }: ToolContext,
  finding: Text,
  outcome: Parameters<ToolContext["actions"]["recordOutcome"]>[1],
  found: Omit<Finding, "finding">,
): Promise<Finding> {
  const isRecorded = await actions.recordOutcome(key, { ...outcome, finding: render(finding, AGENT) });
  if (!isRecorded) return findingFromJournal(await actions.find(key));
  const effect = found.outcome === "rejected" && say` it did not take effect.`;
  return { ...found, finding: say`Resolved:${effect} ${finding}` };
}

/** Records that the action had no effect. `how`: the clause that says how this was found out. */
async function recordNoEffect(action: ActionStatus, ctx: ToolContext, finding: Text, how: Text): Promise<Finding> {
  const failure = new Failure({
    kind: "conflict",
    message: say`${finding} ${how}`,
    retryable: false,
    sideEffect: "none",
    next: say`If it is still wanted, make the call again without idempotencyKey.`,
  });
  return await recordOutcome(action, ctx, finding, { failure }, { outcome: "rejected" });
}

const FOUND_BY_READING = say`This was found out by reading, after the API's answer was lost.`;

/** Reads the job to find out whether it was canceled. Throws Failure if the job cannot be read. */
async function readCancellation(action: ActionStatus, ctx: ToolContext): Promise<Finding> {
  const { id, state } = (await readJob(action.targetId, ctx)).value.data;
  if (state === "CANCELLED") {
    const finding = say`Job ${id} was canceled, by this call or by another client.`;
    const failure = new Failure({
      kind: "conflict",
      message: say`${finding} ${FOUND_BY_READING}`,
      code: state,
      retryable: false,
      sideEffect: "done",
    });
    return await recordOutcome(action, ctx, finding, { failure }, { outcome: "resolved" });
  }
  const finding = say`Job ${id} is ${state}.`;
  if (TERMINAL_STATES.has(state)) return await recordNoEffect(action, ctx, finding, FOUND_BY_READING);
  const later = [
    say`It shows whether it was canceled when it has ended: call again after ${call("wait_for_jobs", { jobIds: [id] })}.`,
    say`To cancel it now, call cancel_job with idempotencyKey ${deriveRepeatKey(action.idempotencyKey)}.`,
  ];
  return { outcome: "still unknown", finding: join([finding, ...later]) };
}

/** Maximum number of jobs that one finding is based on. */
const MAX_SCANNED = 10_000;

/** Reads the list of jobs. No order of the list is assumed: only its end shows that no job is missing. Throws Failure. */
async function scanJobs(workspaceId: string, matches: (job: Job) => boolean, ctx: ToolContext) {
  const search = { workspaceId, limit: MAX_SCANNED, maxRead: MAX_SCANNED, filter: { matches }, isFull: false };
  const { data, page, read, meta, leftOut } = await findJobs(search, ctx);
  const created = await ctx.actions.findManyCreationArguments(data.map(({ id }) => id));
  return {
    /** The matching jobs, except those that another action of the journal created, oldest first. */
    jobs: data.filter(({ id }) => !created.has(id)).sort((one, other) => (one.createdAt < other.createdAt ? -1 : 1)),
    readCount: read.jobs,
    meta,
    /** True if the list was read to its end, and no item broke the contract. */
    isComplete: read.complete,
    hasCursor: page.nextCursor !== null,
    /** Number of items that break the contract. They may be the job that is looked for, so another call would not help. */
    leftOutCount: leftOut.length,
  };
}

type JobScan = Awaited<ReturnType<typeof scanJobs>>;

/** Finding for a list that was not read to its end. */
function unfinishedFinding(text: Text, { hasCursor, readCount, leftOutCount }: JobScan): Finding {
  const outcome = "still unknown";
  if (leftOutCount > 0) {
    const unread = countPart(leftOutCount, "job");
    const finding = say`${text} ${unread} in the list could not be read, because the API's answer breaks its contract.`;
    return { outcome, finding };
  }
  if (readCount >= MAX_SCANNED)
    return {
      outcome,
      finding: say`${text} The list has more jobs than a call reads. jobId or outcome none of resolve_actions records the user's decision.`,
    };
  const more = say`The list has more jobs${!hasCursor && say`, but the API returned no cursor for them`}.`;
  return { outcome, finding: say`${text} ${more}`, isWorthRepeating: true };
}

/** Looks for a retry of the job. Throws Failure if the job or the first page of jobs cannot be read. */
async function readRetry(action: ActionStatus, ctx: ToolContext): Promise<Finding> {
  const { targetId, idleMs } = action;
  const { workspaceId } = (await readJob(targetId, ctx)).value.data;
  const isRetry = ({ retryOfBatchId }: Job): boolean => retryOfBatchId === targetId;
  const scan = await scanJobs(workspaceId, isRetry, ctx);
  const [retry] = scan.jobs;
  if (retry) {
    const { id: createdId } = retry;
    const finding = say`Job ${targetId} was retried as job ${createdId}, by this call or by another client.`;
    const value = { data: retry, meta: scan.meta };
    return await recordOutcome(action, ctx, finding, { value, createdId }, { outcome: "resolved", createdId });
  }
  const finding = say`No retry of job ${targetId} was found among ${countPart(scan.readCount, "job")}.`;
  if (!scan.isComplete) return unfinishedFinding(finding, scan);
  // The list may be behind the write.
  const waitMs = LIST_DELAY_MS - idleMs;
  if (waitMs <= 0) return await recordNoEffect(action, ctx, finding, FOUND_BY_READING);
  const wait = say`A list may not show a retry at once: call again in ${Math.ceil(waitMs / MINUTE_MS)} min.`;
  return { outcome: "still unknown", finding: say`${finding} ${wait}` };
}

const MINUTE_MS = 60_000;
const minutePart = (ms: number): Part => raw(new Date(ms).toISOString().slice(0, 16).replace("T", " "));

/**
 * Looks for jobs that the action may have created. The API returns neither the inputs nor the parameters of a job, so none is proven to be
 * this action's, and only the user can decide. Throws Failure if the first page of jobs cannot be read.
 */
async function readCandidates(action: ActionStatus, ctx: ToolContext): Promise<Finding> {
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
  const scan = await scanJobs(workspaceId, isCandidate, ctx);
  const created = say`created between ${minutePart(fromMs)} and ${minutePart(toMs + MINUTE_MS)} UTC`;
  const candidates = scan.jobs.slice(0, MAX_CANDIDATES).map(({ id }) => id);
  const omitted = scan.jobs.length - candidates.length;
  const names = say`${join(candidates, ", ")}${omitted > 0 && say` and ${omitted} more`}`;
  const decide = (decision: object): Part => call("resolve_actions", { idempotencyKey, ...decision });
  const found = join([
    say`${names}: ${created} with this recipe, each by this call or by another client.`,
    say`${ask("Decide")} which of them this call created.`,
    say`Then call ${decide({ jobId: candidates[0] ?? "" })} with that job or, if none is, ${decide({ outcome: "none" })}.`,
  ]);
  const among = say`No job of this recipe was ${created}, among ${countPart(scan.readCount, "job")}.`;
  const again = deriveRepeatKey(idempotencyKey);
  const none = say`If it is still wanted, make the same call again with idempotencyKey ${again}.`;
  const some = candidates.length > 0 && { candidates };
  if (!scan.isComplete) return { ...unfinishedFinding(some ? found : among, scan), ...some };
  return { outcome: "still unknown", finding: some ? found : join([among, none]), ...some };
}

export async function resolveByReading(action: ActionStatus, ctx: ToolContext): Promise<Finding> {
  try {
    if (action.tool === "cancel_job") return await readCancellation(action, ctx);
    return await (action.tool === "retry_job" ? readRetry : readCandidates)(action, ctx);
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
  throw invalidArguments(say`resolve_actions recorded nothing.`, [
    { pointer: "/jobId", code: "OTHER_ORIGIN", message },
  ]);
}

/** Records the user's decision. Throws Failure if the job cannot be this action's. */
export async function recordDecision(
  action: ActionStatus,
  jobId: string | undefined,
  ctx: ToolContext,
): Promise<Finding> {
  if (jobId === undefined)
    return await recordNoEffect(action, ctx, say`The user decided this.`, say`No answer of the API shows it.`);
  const value = await readDecidedJob(action, jobId, ctx);
  const finding = say`The user decided that job ${jobId} is the job of this call.`;
  const found = { outcome: "resolved", createdId: jobId } as const;
  return await recordOutcome(action, ctx, finding, { value, createdId: jobId }, found);
}
