// This module resolves actions with an unknown outcome, one after another: it sends each again under its key, or reads its job.

import * as z from "zod/v4";
import { unknownKeyFailure } from "../../actions/action-failures.ts";
import { anyKey, deriveRepeatKey } from "../../actions/idempotency-keys.ts";
import { type ActionStatus, otherClientsText, RESOLVED_BY_READING } from "../../actions/listing.ts";
import { timeLeftMs } from "../../api-client/attempts.ts";
import { getMicJob } from "../../contract/endpoints/job-processing.ts";
import { countPart, formatCount, tally } from "../../core/counts.ts";
import type { Failure, FailureKind } from "../../core/failure.ts";
import { join, own, type Reader, raw, render, say, type Text } from "../../core/text.ts";
import { formatToken } from "../../core/untrusted-text.ts";
import { stringValidatedBy } from "../arguments.ts";
import type { ConfirmationPrompt } from "../define-tool.ts";
import { TERMINAL_STATES } from "../describe/job.ts";
import { type NextStep, type ToolResult, toolResult } from "../results.ts";
import { type ToolContext, toStepFailure } from "../tool-context.ts";
import { MIN_ACTION_MS, mapConcurrently, readState, stateSuffix, withTimeToAnswer } from "./batch.ts";
import { createStopRule, runRows, type StopRule } from "./bulk.ts";
import { bulkResult } from "./bulk-results.ts";
import { REGISTER } from "./inputs.ts";
import {
  type Finding,
  findingFromJournal,
  IN_PROGRESS,
  recordDecision,
  resolveByReading,
  stillUnknownFinding,
} from "./resolve-by-reading.ts";

export const resolveInput = z
  .strictObject({
    idempotencyKey: stringValidatedBy(anyKey).describe("Only this action (default: all).").optional(),
    jobId: stringValidatedBy(getMicJob.pathParameters.shape.jobId).describe("User's decision: its job.").optional(),
    outcome: z.enum(["none"]).describe("User's decision: no effect.").optional(),
  })
  .superRefine(({ idempotencyKey, ...others }, { addIssue }) => {
    const [first, second] = Object.entries(others).flatMap(([name, value]) => (value === undefined ? [] : [name]));
    const refuse = (name: string, message: string) => addIssue({ code: "custom", path: [name], message });
    if (first !== undefined && idempotencyKey === undefined) refuse(first, "needs the idempotencyKey of the action");
    if (second !== undefined) refuse(second, `give either ${first} or ${second}`);
  });
type ResolveArguments = z.output<typeof resolveInput>;

/** How an action is resolved. */
export type ResolutionMethod = "send" | "read" | "wait" | "none";

/** Maximum number of rows in one result. */
const MAX_ROWS = 100;

/** The least share of the call's time that each action gets, even if several are left. */
const MIN_SHARE_MS = 10_000;

export function resolutionMethodOf({ tool, state, isTooOld }: ActionStatus): ResolutionMethod {
  if (state === "in_progress") return "wait";
  if (!isTooOld) return "send";
  return RESOLVED_BY_READING.has(tool) ? "read" : "none";
}

async function selectActions(
  { idempotencyKey: key }: ResolveArguments,
  { actions }: Pick<ToolContext, "actions">,
): Promise<readonly ActionStatus[]> {
  if (key === undefined) return await actions.listUnresolved();
  const action = await actions.find(key);
  return action?.state === "unknown" || action?.state === "in_progress" ? [action] : [];
}

/** The API would reject the repeated request again, so only reading may show the effect of an earlier attempt. */
const LASTING_REFUSALS: ReadonlySet<FailureKind> = new Set([
  "precondition_failed",
  "conflict",
  "not_found",
  "rejected",
]);

/** Returns the state of an action after its repeated request was rejected or received no response. */
async function findingAfterFailure(action: ActionStatus, failure: Failure, ctx: ToolContext): Promise<Finding> {
  const { kind, code, sideEffect, retryable } = failure.facts;
  const now = await ctx.actions.find(action.idempotencyKey);
  if (now?.state === "rejected")
    return { outcome: "rejected", finding: say`Resolved: it did not take effect (${code ?? kind.toUpperCase()}).` };
  if (now?.state !== "unknown") return findingFromJournal(now);
  const isTooOld = kind === "outcome_unknown";
  const isLasting = sideEffect === "unknown" && !retryable && (isTooOld || LASTING_REFUSALS.has(kind));
  return isLasting && RESOLVED_BY_READING.has(action.tool)
    ? await resolveByReading(action, ctx)
    : stillUnknownFinding(failure);
}

async function resendAction(action: ActionStatus, ctx: ToolContext): Promise<Finding> {
  const { tool, arguments: args, idempotencyKey } = action;
  try {
    const now = await ctx.actions.find(idempotencyKey);
    // Another process resolved it first. A rejected action must not be sent again here.
    if (now?.state === "succeeded" || now?.state === "rejected") return findingFromJournal(now);
    const noWait = tool === "cancel_job" && { waitSeconds: 0 };
    const made = await ctx.callActionTool(tool, { ...args, idempotencyKey, ...noWait }, ctx);
    if (!made) return { outcome: "not resolvable", finding: say`This version of mic-mcp has no tool ${tool}.` };
    const { createdId, replay, notice } = made;
    const finding = replay || notice === undefined ? say`Resolved: the action ran once.` : notice;
    return { outcome: "resolved", createdId, finding };
  } catch (error) {
    return await findingAfterFailure(action, toStepFailure(error, ctx), ctx);
  }
}

function notResolvableText({ tool, idempotencyKey }: ActionStatus): Text {
  const key = deriveRepeatKey(idempotencyKey);
  return join([
    say`It is too old to be sent again, and the API has no list that shows whether it took effect.`,
    tool === REGISTER
      ? say`run_job registers the file again; register_input does so with idempotencyKey ${key}.`
      : say`If it is still wanted, make the same call again with idempotencyKey ${key}.`,
  ]);
}

async function resolveAutomatically(action: ActionStatus, args: ResolveArguments, ctx: ToolContext): Promise<Finding> {
  switch (resolutionMethodOf(action)) {
    case "wait":
      return args.idempotencyKey === undefined ? IN_PROGRESS : await resendAction(action, ctx);
    case "none":
      return { outcome: "not resolvable", finding: notResolvableText(action) };
    case "read":
      return await resolveByReading(action, ctx);
    case "send":
      return await resendAction(action, ctx);
  }
}

/** Resolves one action. A decision of the user counts only if neither sending nor reading shows the outcome. */
async function resolveOne(action: ActionStatus, args: ResolveArguments, ctx: ToolContext): Promise<Finding> {
  const { jobId, outcome } = args;
  const found = await resolveAutomatically(action, args, ctx);
  const isOpen = found.outcome === "still unknown" || found.outcome === "not resolvable";
  const isFinal = action.isTooOld || found.isWorthRepeating !== true;
  const hasDecision = jobId !== undefined || outcome !== undefined;
  return hasDecision && isOpen && isFinal ? await recordDecision(action, jobId, ctx) : found;
}

export const NOTHING_UNRESOLVED = say`No action is unresolved.`;

/** "4 actions: 2 resolved, 1 rejected, 1 still unknown." */
const summaryOf = (outcomes: readonly Finding["outcome"][]): Text =>
  join([
    say`${countPart(outcomes.length, "action")}: ${raw(tally(outcomes))}.`,
    outcomes.length > MAX_ROWS && say`The first ${MAX_ROWS} follow.`,
  ]);

interface ResolvedAction {
  readonly action: ActionStatus;
  readonly found: Finding;
}

/** "submit_job micrecipev_… (resolved, micjob_…), idempotencyKey mic-…: Resolved: the action ran once." */
function lineOf({ action, found }: ResolvedAction): Text {
  const { tool, targetId, idempotencyKey } = action;
  const { outcome, createdId, finding } = found;
  const made = createdId !== undefined && say`, ${createdId}`;
  return say`${tool} ${targetId} (${own(outcome)}${made}), idempotencyKey ${idempotencyKey}: ${finding}`;
}

function rowOf({ action, found }: ResolvedAction, reader: Reader) {
  const { tool, idempotencyKey, targetId } = action;
  const { isWorthRepeating: _, failure: __, ...row } = found;
  return { tool, idempotencyKey, targetId, ...row, finding: render(row.finding, reader) };
}

/** Resolves one action, or all unresolved ones. Throws Failure if the journal cannot be used, or if the key belongs to no action. */
export async function resolveActions(
  args: ResolveArguments,
  ctx: ToolContext,
): Promise<ToolResult<{ readonly results: readonly object[] }>> {
  const { idempotencyKey: key } = args;
  const selected = await selectActions(args, ctx);
  if (selected.length === 0) {
    if (key === undefined) {
      const others = otherClientsText(await ctx.actions.countOfOtherClients());
      const summary = join([NOTHING_UNRESOLVED, others]);
      return toolResult({ results: [] }, { summary });
    }
    const action = await ctx.actions.find(key);
    if (!action) throw unknownKeyFailure(key).with({ kind: "not_found" });
    const found = { ...findingFromJournal(action), isWorthRepeating: false };
    return await resultOf([{ action, found }], createStopRule(), args, ctx);
  }
  const { timing } = ctx.api;
  const limited = withTimeToAnswer(ctx);
  const stopRule = createStopRule();
  const byKey = new Map(selected.map((action) => [action.idempotencyKey, action]));
  let ended = 0;
  async function work(idempotencyKey: string): Promise<Finding> {
    const action = byKey.get(idempotencyKey);
    if (!action) return NOT_TRIED;
    const share = Math.max(MIN_SHARE_MS, timeLeftMs(limited, timing) / (selected.length - ended));
    const deadlineAt = Math.min(limited.deadlineAt, timing.clockMs() + share);
    return await resolveOne(action, args, { ...limited, deadlineAt });
  }
  const findings = await runRows([...byKey.keys()], {
    stopRule,
    // The actions are sent in their order, since one may be about the effect of another.
    inFlight: 1,
    mayStart: () => timeLeftMs(limited, timing) >= MIN_ACTION_MS,
    work,
    onResult(idempotencyKey, found, count) {
      ended = count;
      const { tool = "", targetId = "" } = byKey.get(idempotencyKey) ?? {};
      const message = `${formatToken(tool)} ${formatToken(targetId)}: ${found.outcome}`;
      ctx.report({ progress: count, total: selected.length, message });
    },
  });
  const resolved = selected.map((action) => ({ action, found: findings.get(action.idempotencyKey) ?? NOT_TRIED }));
  return await resultOf(resolved, stopRule, args, ctx);
}

const NOT_TRIED: Finding = { outcome: "still unknown", finding: say`Not tried yet.`, isWorthRepeating: true };

const PROMISE = say`no action runs twice`;

async function resultOf(
  resolved: readonly ResolvedAction[],
  stopRule: StopRule,
  { idempotencyKey: key }: ResolveArguments,
  ctx: ToolContext,
): Promise<ToolResult<{ readonly results: readonly object[] }>> {
  const outcomes = resolved.map(({ found }) => found.outcome);
  const unresolved = resolved.flatMap(({ found }) => (found.isWorthRepeating ? found : []));
  const failures = unresolved.flatMap(({ failure }) => failure ?? []);
  // A call at once makes sense if it tries others: it begins with the same actions, except those resolved now.
  const hasResolved = outcomes.some((outcome) => outcome === "resolved" || outcome === "rejected");
  const mayContinue = hasResolved && unresolved.includes(NOT_TRIED);
  const args = key === undefined ? {} : { idempotencyKey: key };
  const why = say`later it may find out more; ${PROMISE}`;
  const nextStep: NextStep = { tool: "resolve_actions", arguments: args, why };
  const shown = resolved.slice(0, MAX_ROWS);
  return await bulkResult(
    { results: shown },
    {
      fields: (reader) => ({ results: shown.map((each) => rowOf(each, reader)) }),
      counts: summaryOf(outcomes),
      ...{ failures, mayContinue, promise: PROMISE },
      nextStep: () => (unresolved.length > 0 ? nextStep : undefined),
      lines: shown.map(lineOf),
    },
    { ctx, stopRule },
  );
}

/** Describes the work that would be discarded if this action ran now; returns undefined if there is none. */
async function describeDiscardedWork(action: ActionStatus, ctx: ToolContext): Promise<string | undefined> {
  const { tool, targetId } = action;
  const isCancel = tool === "cancel_job";
  const state = await readState(targetId, ctx);
  // The API rejects actions on a job that does not exist. A job that cannot be read can still be canceled.
  if (state === undefined || (isCancel && TERMINAL_STATES.has(state))) return undefined;
  const effect = isCancel
    ? `cancel job ${formatToken(targetId)}`
    : `run job ${formatToken(targetId)} again from the start`;
  return effect + stateSuffix(state);
}

/**
 * Builds the question about a decision, or one for all cancellations and restarts that would be sent; undefined without any of these. An
 * action that is not too old is sent again before a decision is recorded, and the question says so.
 */
export async function prepareResolveConfirmation(
  args: ResolveArguments,
  ctx: ToolContext,
): Promise<ConfirmationPrompt | undefined> {
  const { jobId, outcome } = args;
  const selected = await selectActions(args, ctx);
  const sent = selected.filter((action) => resolutionMethodOf(action) === "send");
  const destructive = sent.filter(
    ({ tool, arguments: { retryMode } }) => tool === "cancel_job" || (tool === "retry_job" && retryMode === "RESTART"),
  );
  const effects = await mapConcurrently(destructive, (action) => describeDiscardedWork(action, ctx));
  const discards = `If one never arrived, it takes effect now, and finished work is discarded: ${effects.join("; ")}.`;
  const [first] = selected;
  if (first && (jobId !== undefined || outcome !== undefined)) {
    const action = `${formatToken(first.tool)} ${formatToken(first.targetId)}`;
    const what = jobId === undefined ? "did not take effect" : `created job ${formatToken(jobId)}`;
    const question =
      sent.length === 0
        ? `Record that ${action} ${what}?`
        : `Send ${action} again under its key and, only if that does not show its outcome, record that it ${what}?`;
    return { text: effects.length === 0 ? question : `${question} ${discards}`, resourceVersion: undefined };
  }
  if (effects.length === 0) return undefined;
  const calls = formatCount(effects.length, "call whose outcome is", "calls whose outcomes are");
  return { text: `Send ${calls} unknown again? ${discards}`, resourceVersion: undefined };
}
