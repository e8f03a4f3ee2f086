// Resolves actions whose outcome is unknown, one after the other: each is sent again under its key, or its job is read.
import { RESOLVED_BY_READING, type StandingAction } from "../../actions/listing.ts";
import { unknownKey } from "../../actions/unknown-outcome.ts";
import { timeLeftMs } from "../../api-client/attempts.ts";
import { getMicJob } from "../../contract/endpoints/job-processing.ts";
import { Failure } from "../../failure.ts";
import { word } from "../../outside.ts";
import type { PreparedQuestion } from "../define-tool.ts";
import type { Ports } from "../ports.ts";
import { answerResult, type NextStep, type ToolResult } from "../results.ts";
import type { ToolCall } from "../tool-call.ts";
import { eachOfMany, hasTimeToAct, withTimeToAnswer } from "./batch.ts";
import { ENDED } from "./ended.ts";
import { type ReadOutcome, readCancellation, readRetry } from "./reading-outcome.ts";

interface ResolveArguments {
  readonly idempotencyKey?: string | undefined;
}

/** How an action is resolved. */
export type ResolvingStep = "send" | "read" | "wait" | "skip" | "none";

export interface ResolvedRow {
  readonly tool: string;
  readonly idempotencyKey: string;
  /** The id of the resource that the action is about. */
  readonly about: string;
  readonly outcome: "resolved" | "rejected" | "still unknown" | "in progress" | "skipped" | "not resolvable";
  /** The id of the resource that it made. */
  readonly resourceId?: string;
  readonly finding: string;
}

interface Finding extends Pick<ResolvedRow, "outcome" | "resourceId" | "finding"> {
  /** The same call later may show more. */
  readonly isWorthRepeating?: boolean;
  readonly retryAfterSeconds?: number | undefined;
}

interface ResolveAnswer {
  readonly results: readonly ResolvedRow[];
}

/** Rows in one answer. */
const MAX_ROWS = 100;

/** If several actions are left, one that does not get an answer takes at least this much of the call's time. */
const MIN_SHARE_MS = 10_000;

export function resolvingStep({ tool, state, supersededBy, isTooOld }: StandingAction): ResolvingStep {
  if (state === "in_progress") return "wait";
  if (supersededBy !== undefined) return "skip";
  if (!isTooOld) return "send";
  return RESOLVED_BY_READING.has(tool) ? "read" : "none";
}

async function wantedActions(
  { idempotencyKey: key }: ResolveArguments,
  { actions }: Pick<Ports, "actions">,
): Promise<readonly StandingAction[]> {
  const all = await actions.unresolved();
  return key === undefined ? all : all.filter(({ idempotencyKey }) => idempotencyKey === key);
}

const codeOf = ({ code, kind }: Failure["facts"]): string => word(code ?? kind.toUpperCase());

/** As the journal has an action that this call did not resolve itself. */
function standing(action: StandingAction | undefined): Finding {
  const made = action?.resourceId !== undefined && { resourceId: action.resourceId };
  switch (action?.state) {
    case "succeeded":
      return { outcome: "resolved", ...made, finding: "Resolved: it took effect once." };
    case "rejected":
      return {
        outcome: "rejected",
        finding: `Resolved: it did not take effect${action.code === undefined ? "" : ` (${word(action.code)})`}.`,
      };
    case "in_progress":
      return { outcome: "in progress", finding: "Another call is working on it." };
    default:
      return { outcome: "still unknown", finding: "Another process may still work on it.", isWorthRepeating: true };
  }
}

/** The API refused to repeat it, and will refuse it again; what an earlier attempt did stays open. */
const isRefused = ({ facts }: Failure): boolean =>
  facts.sideEffect === "unknown" && (facts.kind === "precondition_failed" || facts.kind === "conflict");

/** One call of resolve_actions. */
interface Resolving {
  readonly call: ToolCall;
  readonly ports: Ports;
}

const stillUnknown = ({ facts }: Failure): Finding => ({
  outcome: "still unknown",
  finding: facts.message,
  isWorthRepeating: facts.retryable,
  retryAfterSeconds: facts.retryAfterSeconds,
});

/** Runs `work`; a Failure becomes a finding, unless the call was canceled. */
async function orFinding(
  { call }: Pick<Resolving, "call">,
  work: () => Promise<Finding>,
  explain: (failure: Failure) => Promise<Finding>,
): Promise<Finding> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof Failure) || call.context.signal.aborted) throw error;
    return await explain(error);
  }
}

async function record(
  action: StandingAction,
  { finding, record, mayShowLater }: ReadOutcome,
  { ports }: Resolving,
): Promise<Finding> {
  if (!record) return { outcome: "still unknown", finding, isWorthRepeating: mayShowLater ?? false };
  const { idempotencyKey: key } = action;
  if (!(await ports.actions.conclude(key, record))) return standing(await ports.actions.find(key));
  if ("resourceId" in record)
    return { outcome: "resolved", resourceId: record.resourceId, finding: `Resolved: it ran once. ${finding}` };
  return record.failure.facts.sideEffect === "done"
    ? { outcome: "resolved", finding: `Resolved: it took effect. ${finding}` }
    : { outcome: "rejected", finding: `Resolved: it did not take effect. ${finding}` };
}

const read = (action: StandingAction, resolving: Resolving): Promise<Finding> =>
  orFinding(
    resolving,
    async () => {
      const { call, ports } = resolving;
      const reading = action.tool === "cancel_job" ? readCancellation : readRetry;
      return await record(action, await reading(action, call, ports), resolving);
    },
    async (failure) => stillUnknown(failure),
  );

async function explainFailure(action: StandingAction, failure: Failure, resolving: Resolving): Promise<Finding> {
  const now = await resolving.ports.actions.find(action.idempotencyKey);
  if (now?.state === "rejected")
    return { outcome: "rejected", finding: `Resolved: it did not take effect (${codeOf(failure.facts)}).` };
  if (now?.state !== "unknown") return standing(now);
  if (isRefused(failure) && !failure.facts.retryable && RESOLVED_BY_READING.has(action.tool))
    return await read(action, resolving);
  return stillUnknown(failure);
}

const send = (action: StandingAction, resolving: Resolving): Promise<Finding> =>
  orFinding(
    resolving,
    async () => {
      const { tool, arguments: args, idempotencyKey } = action;
      const now = await resolving.ports.actions.find(idempotencyKey);
      // Another process was faster. A rejected action must not be sent again here.
      if (now?.state === "succeeded" || now?.state === "rejected") return standing(now);
      const { call } = resolving;
      const { notice, replay, data } = (await call.act(tool, { ...args, idempotencyKey }, call.context)) ?? {};
      if (data === undefined)
        return { outcome: "not resolvable", finding: `This version of mic-mcp has no tool ${word(tool)}.` };
      const finding = replay || notice === undefined ? "Resolved: it ran once." : notice;
      return { outcome: "resolved", resourceId: data.id, finding };
    },
    (failure) => explainFailure(action, failure, resolving),
  );

const NOT_RESOLVABLE =
  "It is too old to be sent again, and no tool can read whether it took effect. It is removed from the journal after its retention time.";

async function resolveOne(action: StandingAction, isNamed: boolean, resolving: Resolving): Promise<Finding> {
  switch (resolvingStep(action)) {
    case "wait":
      if (isNamed) return await send(action, resolving);
      return { outcome: "in progress", finding: "Another call is working on it." };
    case "skip":
      return {
        outcome: "skipped",
        finding: `An identical action succeeded later (${word(action.supersededBy ?? "")}); this one is not sent again.`,
      };
    case "none":
      return { outcome: "not resolvable", finding: NOT_RESOLVABLE };
    case "read":
      return await read(action, resolving);
    case "send":
      return await send(action, resolving);
  }
}

/** "1 is", "2 are". */
const counted = (count: number, one: string, many: string): string => `${count} ${count === 1 ? one : many}`;

/** "2 of 3 actions resolved: 1 ran, 1 was rejected. 1 is still unknown." */
function summaryOf(rows: readonly ResolvedRow[]): string {
  const [only, ...others] = rows;
  if (only && others.length === 0) {
    const made = only.resourceId === undefined ? "" : ` (${word(only.resourceId)})`;
    return `${word(only.tool)} ${word(only.about)}${made}: ${only.finding}`;
  }
  const count = (outcome: ResolvedRow["outcome"]): number => rows.filter((row) => row.outcome === outcome).length;
  const [ran, rejected] = [count("resolved"), count("rejected")];
  const found = [
    ...(ran > 0 ? [`${ran} ran`] : []),
    ...(rejected > 0 ? [counted(rejected, "was rejected", "were rejected")] : []),
  ];
  const rest = [
    [count("still unknown"), "is still unknown", "are still unknown"],
    [count("in progress"), "is in progress", "are in progress"],
    [count("skipped"), "was skipped", "were skipped"],
    [count("not resolvable"), "cannot be resolved", "cannot be resolved"],
  ] as const;
  const sentences = [
    `${ran + rejected} of ${rows.length} actions resolved${found.length === 0 ? "" : `: ${found.join(", ")}`}.`,
    ...rest.flatMap(([number, one, many]) => (number === 0 ? [] : [`${counted(number, one, many)}.`])),
    ...(rows.length > MAX_ROWS ? [`The first ${MAX_ROWS} follow.`] : []),
  ];
  return sentences.join(" ");
}

function nextStep(findings: readonly Finding[], args: ResolveArguments): NextStep | undefined {
  const again = findings.filter(({ isWorthRepeating }) => isWorthRepeating);
  if (again.length === 0) return undefined;
  const waitSeconds = Math.max(0, ...again.map(({ retryAfterSeconds = 0 }) => retryAfterSeconds));
  const wait = waitSeconds > 0 ? `wait ${waitSeconds} s first; ` : "";
  return {
    tool: "resolve_actions",
    arguments: { ...args },
    why: `${wait}later it may find out more; no action runs twice`,
  };
}

/** "submit_job micrecipev_… (resolved, micjob_…), idempotencyKey mic-…: Resolved: it ran once." */
function lineOf({ tool, about, outcome, resourceId, idempotencyKey, finding }: ResolvedRow, isOnly: boolean): string {
  const made = resourceId === undefined ? "" : `, ${word(resourceId)}`;
  const key = `idempotencyKey ${word(idempotencyKey)}`;
  return isOnly ? `${outcome}, ${key}` : `${word(tool)} ${word(about)} (${outcome}${made}), ${key}: ${finding}`;
}

/** Throws Failure if the journal cannot be used, or the key belongs to no action. */
export async function resolveActions(
  args: ResolveArguments,
  call: ToolCall,
  ports: Ports,
): Promise<ToolResult<ResolveAnswer>> {
  const { idempotencyKey: key } = args;
  const wanted = await wantedActions(args, ports);
  const [named] = key !== undefined && wanted.length === 0 ? [await ports.actions.find(key)] : [];
  if (key !== undefined && wanted.length === 0 && !named) throw unknownKey(key);
  if (named) {
    const { tool, idempotencyKey, about } = named;
    return answerOf([{ tool, idempotencyKey, about, ...standing(named) }], [], args, call);
  }
  const { timing } = ports.service;
  const context = withTimeToAnswer(call.context);
  const rows: ResolvedRow[] = [];
  const findings: Finding[] = [];
  for (const [index, action] of wanted.entries()) {
    const { tool, idempotencyKey, about } = action;
    const share = Math.max(MIN_SHARE_MS, timeLeftMs(context, timing) / (wanted.length - index));
    const deadlineAt = Math.min(context.deadlineAt, timing.now() + share);
    const found: Finding = hasTimeToAct(context, timing)
      ? await resolveOne(action, key !== undefined, {
          call: { ...call, context: { ...context, deadlineAt } },
          ports,
        })
      : { outcome: "still unknown", finding: "Not tried yet: the call's time was over.", isWorthRepeating: true };
    findings.push(found);
    const { outcome, resourceId, finding } = found;
    rows.push({ tool, idempotencyKey, about, outcome, ...(resourceId !== undefined && { resourceId }), finding });
    call.report({ progress: index + 1, total: wanted.length, message: `${word(tool)} ${word(about)}: ${outcome}` });
  }
  return answerOf(rows, findings, args, call);
}

function answerOf(
  rows: readonly ResolvedRow[],
  findings: readonly Finding[],
  args: ResolveArguments,
  call: ToolCall,
): ToolResult<ResolveAnswer> {
  if (rows.length === 0) return answerResult({ results: [] }, { advice: { summary: "No action is unresolved." } });
  const step = nextStep(findings, args);
  const advice = { summary: summaryOf(rows), ...(step && call.isOffered(step.tool) && { nextStep: step }) };
  const results = rows.slice(0, MAX_ROWS);
  // The summary of a single row contains its finding.
  const lines = results.map((row) => lineOf(row, rows.length === 1));
  return answerResult({ results }, { advice, body: lines.join("\n") });
}

const isDestructive = ({ tool, arguments: args }: StandingAction): boolean =>
  tool === "cancel_job" || (tool === "retry_job" && args["retryMode"] === "RESTART");

/** What would be discarded if this action ran now; undefined if nothing would be. */
async function discards(
  { tool, about }: StandingAction,
  call: ToolCall,
  { service }: Ports,
): Promise<string | undefined> {
  const isCancel = tool === "cancel_job";
  const what = isCancel ? `cancel job ${word(about)}` : `run job ${word(about)} again from the start`;
  try {
    const context = withTimeToAnswer(call.context);
    const { state } = (await service.call(getMicJob, { path: { jobId: about } }, context)).value.data;
    return isCancel && ENDED.has(state) ? undefined : `${what} (${state})`;
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    // The API refuses what is about a job that does not exist. A job that may not be read may still be canceled.
    return error.facts.kind === "not_found" ? undefined : what;
  }
}

/** One question for all cancellations and restarts that would be sent; undefined if there are none. */
export async function askAboutResolving(
  args: ResolveArguments,
  call: ToolCall,
  ports: Ports,
): Promise<PreparedQuestion | undefined> {
  const wanted = await wantedActions(args, ports);
  const asked = wanted.filter((action) => resolvingStep(action) === "send" && isDestructive(action));
  const effects = await eachOfMany(asked, (action) => discards(action, call, ports));
  if (effects.length === 0) return undefined;
  const calls = counted(effects.length, "call whose outcome is", "calls whose outcomes are");
  const text = `Send ${calls} unknown again? If one never arrived, it takes effect now, and finished work is discarded: ${effects.join("; ")}.`;
  return { text, resourceVersion: undefined };
}
