// This module resolves actions with an unknown outcome, one after another: it sends each again under its key, or reads its job.

import { unknownKeyFailure } from "../../actions/action-failures.ts";
import { type ActionStatus, RESOLVED_BY_READING } from "../../actions/listing.ts";
import { timeLeftMs } from "../../api-client/attempts.ts";
import { Failure } from "../../core/failure.ts";
import { formatToken } from "../../core/untrusted-text.ts";
import { ENDED } from "../advice/job-facts.ts";
import type { ConfirmationPrompt } from "../define-tool.ts";
import { type NextStep, type ToolResult, toolResult } from "../results.ts";
import { type JobPorts, type ToolCall, toStepFailure } from "../tool-call.ts";
import {
  formatCount,
  hasTimeToAct,
  mapConcurrently,
  readJob,
  stateSuffix,
  waitFirstText,
  withTimeToAnswer,
} from "./batch.ts";
import { findJobs, MAX_READ } from "./find-jobs.ts";

interface ResolveArguments {
  readonly idempotencyKey?: string | undefined;
}

/** How an action is resolved. */
export type ResolutionMethod = "send" | "read" | "wait" | "skip" | "none";

export interface ResolvedRow {
  readonly tool: string;
  readonly idempotencyKey: string;
  /** The id of the resource that the action is about. */
  readonly about: string;
  readonly outcome: "resolved" | "rejected" | "still unknown" | "in progress" | "skipped" | "not resolvable";
  /** The id of the resource that the action created. */
  readonly resourceId?: string | undefined;
  readonly finding: string;
}

interface Finding extends Pick<ResolvedRow, "outcome" | "resourceId" | "finding"> {
  /** True if a later identical call may find out more. */
  readonly isWorthRepeating?: boolean;
  readonly retryAfterSeconds?: number | undefined;
}

/** Maximum number of rows in one result. */
const MAX_ROWS = 100;

/** Each action may take at least this much of the call's time, even if several are left. */
const MIN_SHARE_MS = 10_000;

/** The clocks of this machine and of the API may differ by this much. */
const CLOCK_SLACK_MS = 5 * 60_000;

export function resolutionMethodOf({ tool, state, supersededBy, isTooOld }: ActionStatus): ResolutionMethod {
  if (state === "in_progress") return "wait";
  if (supersededBy !== undefined) return "skip";
  if (!isTooOld) return "send";
  return RESOLVED_BY_READING.has(tool) ? "read" : "none";
}

async function selectActions(
  { idempotencyKey: key }: ResolveArguments,
  { actions }: Pick<JobPorts, "actions">,
): Promise<readonly ActionStatus[]> {
  const all = await actions.listUnresolved();
  return key === undefined ? all : all.filter(({ idempotencyKey }) => idempotencyKey === key);
}

const IN_PROGRESS: Finding = { outcome: "in progress", finding: "Another call is working on it." };

/** Returns the state of an action in the journal, if this call did not resolve it itself. */
function findingFromJournal(action: ActionStatus | undefined): Finding {
  const made = action?.resourceId !== undefined && { resourceId: action.resourceId };
  switch (action?.state) {
    case "succeeded":
      return { outcome: "resolved", ...made, finding: "Resolved: it took effect once." };
    case "rejected": {
      const code = action.code === undefined ? "" : ` (${formatToken(action.code)})`;
      return { outcome: "rejected", finding: `Resolved: it did not take effect${code}.` };
    }
    case "in_progress":
      return IN_PROGRESS;
    default:
      return { outcome: "still unknown", finding: "Another process may still work on it.", isWorthRepeating: true };
  }
}

const stillUnknownFinding = ({ facts }: Failure): Finding => ({
  outcome: "still unknown",
  finding: facts.message,
  isWorthRepeating: facts.retryable,
  retryAfterSeconds: facts.retryAfterSeconds,
});

/** Records an outcome that was found by reading. If another process recorded one first, returns that one. */
async function recordOutcome(
  { idempotencyKey: key }: ActionStatus,
  { actions }: JobPorts,
  outcome: Parameters<JobPorts["actions"]["recordOutcome"]>[1],
  found: Finding,
): Promise<Finding> {
  return (await actions.recordOutcome(key, outcome)) ? found : findingFromJournal(await actions.find(key));
}

async function recordNoEffect(action: ActionStatus, ports: JobPorts, finding: string): Promise<Finding> {
  const failure = new Failure({
    kind: "conflict",
    message: `${finding} This was found out by reading, after the API's answer was lost.`,
    retryable: false,
    sideEffect: "none",
    next: "If it is still wanted, make the call again without idempotencyKey.",
  });
  const found: Finding = { outcome: "rejected", finding: `Resolved: it did not take effect. ${finding}` };
  return await recordOutcome(action, ports, { failure }, found);
}

/** Reads the job to find out whether a cancellation took effect. Throws Failure if the job cannot be read. */
async function readCancellation(action: ActionStatus, call: ToolCall, ports: JobPorts): Promise<Finding> {
  const { id, state } = (await readJob(action.about, call, ports)).value.data;
  const finding = `Job ${formatToken(id)} is ${state}.`;
  if (state === "CANCELLED") {
    const failure = new Failure({
      kind: "conflict",
      message: `${finding} The API's answer was lost, and this was found out by reading the job.`,
      code: state,
      retryable: false,
      sideEffect: "done",
      next: "Nothing is left to do.",
    });
    const found: Finding = { outcome: "resolved", finding: `Resolved: it took effect. ${finding}` };
    return await recordOutcome(action, ports, { failure }, found);
  }
  // A cancellation takes less time than the period in which an action may be sent again.
  if (ENDED.has(state) || action.isTooOld) return await recordNoEffect(action, ports, finding);
  const shows = "It shows whether it was canceled when it has ended.";
  return { outcome: "still unknown", finding: `${finding} ${shows}`, isWorthRepeating: true };
}

/** Looks for the job that a retry created. Throws Failure if the job or the first page of jobs cannot be read. */
async function readRetry(action: ActionStatus, call: ToolCall, ports: JobPorts): Promise<Finding> {
  const { about, firstSentAt } = action;
  const { workspaceId } = (await readJob(about, call, ports)).value.data;
  const filter = { createdSince: new Date(firstSentAt - CLOCK_SLACK_MS).toISOString() };
  const found = await findJobs({ workspaceId, limit: MAX_READ, filter, isFull: false }, call, ports);
  const retries = found.data
    .filter(({ retryOfBatchId }) => retryOfBatchId === about)
    .sort((one, other) => (one.createdAt < other.createdAt ? -1 : 1));
  for (const job of retries) {
    // Another action in the journal created this job.
    if ((await ports.actions.readHistory(job.id)).creationArguments) continue;
    const finding = `Resolved: the action ran once. Job ${formatToken(about)} was retried as job ${formatToken(job.id)}.`;
    const outcome = { value: { data: job, meta: found.meta }, resourceId: job.id };
    return await recordOutcome(action, ports, outcome, { outcome: "resolved", resourceId: job.id, finding });
  }
  const finding = `${found.read.jobs} jobs were read, and none is this retry of job ${formatToken(about)}.`;
  if (!found.page.hasMore || found.isRestOld) return await recordNoEffect(action, ports, finding);
  const isWorthRepeating = found.ended !== undefined;
  const shows = "The list was not read back to the first attempt.";
  return { outcome: "still unknown", finding: `${finding} ${shows}`, isWorthRepeating };
}

async function resolveByReading(action: ActionStatus, call: ToolCall, ports: JobPorts): Promise<Finding> {
  try {
    return await (action.tool === "cancel_job" ? readCancellation : readRetry)(action, call, ports);
  } catch (error) {
    return stillUnknownFinding(toStepFailure(error, call));
  }
}

/** Returns the state of an action after its repeated request was rejected or received no response. */
async function findingAfterFailure(
  action: ActionStatus,
  failure: Failure,
  call: ToolCall,
  ports: JobPorts,
): Promise<Finding> {
  const { kind, code, sideEffect, retryable } = failure.facts;
  const now = await ports.actions.find(action.idempotencyKey);
  if (now?.state === "rejected") {
    const why = formatToken(code ?? kind.toUpperCase());
    return { outcome: "rejected", finding: `Resolved: it did not take effect (${why}).` };
  }
  if (now?.state !== "unknown") return findingFromJournal(now);
  // The API rejected the repeated request, and would reject it again. The effect of an earlier attempt is still unknown.
  const isRefused = sideEffect === "unknown" && (kind === "precondition_failed" || kind === "conflict");
  if (isRefused && !retryable && RESOLVED_BY_READING.has(action.tool))
    return await resolveByReading(action, call, ports);
  return stillUnknownFinding(failure);
}

async function resendAction(action: ActionStatus, call: ToolCall, ports: JobPorts): Promise<Finding> {
  const { tool, arguments: args, idempotencyKey } = action;
  try {
    const now = await ports.actions.find(idempotencyKey);
    // Another process resolved it first. A rejected action must not be sent again here.
    if (now?.state === "succeeded" || now?.state === "rejected") return findingFromJournal(now);
    const noWait = tool === "cancel_job" && { waitSeconds: 0 };
    const made = await call.callActionTool(tool, { ...args, idempotencyKey, ...noWait }, call.context);
    if (!made)
      return { outcome: "not resolvable", finding: `This version of mic-mcp has no tool ${formatToken(tool)}.` };
    const finding = made.replay ? undefined : made.notice;
    return { outcome: "resolved", resourceId: made.resourceId, finding: finding ?? "Resolved: the action ran once." };
  } catch (error) {
    return await findingAfterFailure(action, toStepFailure(error, call), call, ports);
  }
}

const NOT_RESOLVABLE =
  "It is too old to be sent again, and no tool can read whether it took effect. It is removed from the journal after its retention time.";

async function resolveOne(action: ActionStatus, isNamed: boolean, call: ToolCall, ports: JobPorts): Promise<Finding> {
  switch (resolutionMethodOf(action)) {
    case "wait":
      return isNamed ? await resendAction(action, call, ports) : IN_PROGRESS;
    case "skip": {
      const later = formatToken(action.supersededBy ?? "");
      return {
        outcome: "skipped",
        finding: `An identical action succeeded later (${later}); this one is not sent again.`,
      };
    }
    case "none":
      return { outcome: "not resolvable", finding: NOT_RESOLVABLE };
    case "read":
      return await resolveByReading(action, call, ports);
    case "send":
      return await resendAction(action, call, ports);
  }
}

const OTHER_OUTCOMES = [
  ["still unknown", "is still unknown", "are still unknown"],
  ["in progress", "is in progress", "are in progress"],
  ["skipped", "was skipped", "were skipped"],
  ["not resolvable", "cannot be resolved", "cannot be resolved"],
] as const;

/** "2 of 3 actions resolved: 1 ran, 1 was rejected. 1 is still unknown." */
function summaryOf(rows: readonly ResolvedRow[]): string {
  const [only, ...others] = rows;
  if (!only) return "No action is unresolved.";
  if (others.length === 0) {
    const made = only.resourceId === undefined ? "" : ` (${formatToken(only.resourceId)})`;
    return `${formatToken(only.tool)} ${formatToken(only.about)}${made}: ${only.finding}`;
  }
  const count = (outcome: ResolvedRow["outcome"]): number => rows.filter((row) => row.outcome === outcome).length;
  const [ran, rejected] = [count("resolved"), count("rejected")];
  const found = [
    ...(ran > 0 ? [`${ran} ran`] : []),
    ...(rejected > 0 ? [formatCount(rejected, "was rejected", "were rejected")] : []),
  ];
  const sentences = [
    `${ran + rejected} of ${rows.length} actions resolved${found.length === 0 ? "" : `: ${found.join(", ")}`}.`,
    ...OTHER_OUTCOMES.map(([outcome, one, many]) => count(outcome) > 0 && `${formatCount(count(outcome), one, many)}.`),
    rows.length > MAX_ROWS && `The first ${MAX_ROWS} follow.`,
  ];
  return sentences.filter(Boolean).join(" ");
}

/** "submit_job micrecipev_… (resolved, micjob_…), idempotencyKey mic-…: Resolved: the action ran once." */
function lineOf({ tool, about, outcome, resourceId, idempotencyKey, finding }: ResolvedRow, isOnly: boolean): string {
  const made = resourceId === undefined ? "" : `, ${formatToken(resourceId)}`;
  const key = `idempotencyKey ${formatToken(idempotencyKey)}`;
  // The summary of a single row contains its finding.
  return isOnly
    ? `${outcome}, ${key}`
    : `${formatToken(tool)} ${formatToken(about)} (${outcome}${made}), ${key}: ${finding}`;
}

/** Resolves one action, or all unresolved ones. Throws Failure if the journal cannot be used, or if the key belongs to no action. */
export async function resolveActions(
  args: ResolveArguments,
  call: ToolCall,
  ports: JobPorts,
): Promise<ToolResult<{ readonly results: readonly ResolvedRow[] }>> {
  const { idempotencyKey: key } = args;
  const rows: ResolvedRow[] = [];
  const unresolved: Finding[] = [];
  function add(action: ActionStatus, { isWorthRepeating, retryAfterSeconds, ...found }: Finding): void {
    const { tool, idempotencyKey, about } = action;
    rows.push({ tool, idempotencyKey, about, ...found });
    if (isWorthRepeating) unresolved.push({ ...found, retryAfterSeconds });
  }

  const selected = await selectActions(args, ports);
  if (key !== undefined && selected.length === 0) {
    const action = await ports.actions.find(key);
    if (!action) throw unknownKeyFailure(key);
    add(action, { ...findingFromJournal(action), isWorthRepeating: false });
  }
  const { timing } = ports.service;
  const context = withTimeToAnswer(call.context);
  for (const [index, action] of selected.entries()) {
    const share = Math.max(MIN_SHARE_MS, timeLeftMs(context, timing) / (selected.length - index));
    const deadlineAt = Math.min(context.deadlineAt, timing.now() + share);
    const found: Finding = hasTimeToAct(context, timing)
      ? await resolveOne(action, key !== undefined, { ...call, context: { ...context, deadlineAt } }, ports)
      : { outcome: "still unknown", finding: "Not tried yet: the call's time was over.", isWorthRepeating: true };
    add(action, found);
    const message = `${formatToken(action.tool)} ${formatToken(action.about)}: ${found.outcome}`;
    call.report({ progress: index + 1, total: selected.length, message });
  }
  const nextStep: NextStep = {
    tool: "resolve_actions",
    arguments: { ...args },
    why: `${waitFirstText(unresolved)}later it may find out more; no action runs twice`,
  };
  const results = rows.slice(0, MAX_ROWS);
  return toolResult(
    call,
    { results },
    {
      summary: summaryOf(rows),
      nextStep: unresolved.length > 0 ? nextStep : undefined,
      lines: results.map((row) => lineOf(row, rows.length === 1)),
    },
  );
}

/** Describes the work that would be discarded if this action ran now; returns undefined if there is none. */
async function describeDiscardedWork(
  action: ActionStatus,
  call: ToolCall,
  ports: JobPorts,
): Promise<string | undefined> {
  const { tool, about } = action;
  const isCancel = tool === "cancel_job";
  const state = await stateSuffix(about, call, ports);
  // The API rejects actions on a job that does not exist. A job that cannot be read can still be canceled.
  if (state === undefined || (isCancel && ENDED.has(state.slice(2, -1)))) return undefined;
  return `${isCancel ? `cancel job ${formatToken(about)}` : `run job ${formatToken(about)} again from the start`}${state}`;
}

/** Builds one question for all cancellations and restarts that would be sent; returns undefined if there are none. */
export async function prepareResolveConfirmation(
  args: ResolveArguments,
  call: ToolCall,
  ports: JobPorts,
): Promise<ConfirmationPrompt | undefined> {
  const destructive = (await selectActions(args, ports)).filter(
    (action) =>
      resolutionMethodOf(action) === "send" &&
      (action.tool === "cancel_job" || (action.tool === "retry_job" && action.arguments["retryMode"] === "RESTART")),
  );
  const effects = await mapConcurrently(destructive, (action) => describeDiscardedWork(action, call, ports));
  if (effects.length === 0) return undefined;
  const calls = formatCount(effects.length, "call whose outcome is", "calls whose outcomes are");
  const text = `Send ${calls} unknown again? If one never arrived, it takes effect now, and finished work is discarded: ${effects.join("; ")}.`;
  return { text, resourceVersion: undefined };
}
