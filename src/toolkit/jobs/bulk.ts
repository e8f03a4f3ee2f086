// This module is the engine of the tools that work on many rows. It calls the operation of the single tool for each row, at most 4 at a time,
// stops at a failure that concerns all rows, and builds one result. It states facts of the API's response and does not interpret its codes.
import { formatDuration } from "../../actions/deduplication-window.ts";
import { deriveRepeatKey, deriveStepKey } from "../../actions/idempotency-keys.ts";
import { timeLeftMs } from "../../api-client/attempts.ts";
import type { Job } from "../../contract/jobs.ts";
import { countPart, formatCount } from "../../core/counts.ts";
import { Failure, type FailureFacts, type FailureKind } from "../../core/failure.ts";
import { formatRecordTable } from "../../core/table.ts";
import { join, say, type Text, toText, type Words } from "../../core/text.ts";
import type { ToolName } from "../../core/tool-names.ts";
import { formatToken, quote } from "../../core/untrusted-text.ts";
import { operatorNeededText } from "../describe/job.ts";
import { type NextStep, type Replay, type ToolResult, toolResult } from "../results.ts";
import { type ToolContext, toStepFailure } from "../tool-context.ts";
import { limitCall, MIN_ACTION_MS, runWorkers, type TimedCall } from "./batch.ts";

/** Maximum number of rows of one call that are in progress at a time. */
const MAX_IN_FLIGHT = 4;

/** Failures of these kinds do not depend on the row. */
const SHARED_KINDS: ReadonlySet<FailureKind> = new Set(["not_configured", "unauthorized", "unavailable", "internal"]);

// A 429 that fails a request asks for a longer wait than the call has time for.
const concernsAllRows = ({ kind, status, at }: FailureFacts): boolean =>
  at !== undefined || SHARED_KINDS.has(kind) || status === 401 || status === 429 || kind === "rate_limited";

/** A 403 or 5xx may concern one row only: a file without permission must not stop the others. */
const mayConcernAllRows = ({ status = 0, fieldErrors = [] }: FailureFacts): boolean =>
  (status === 403 || status >= 500) && fieldErrors.length === 0;

export type StopRule = ReturnType<typeof createStopRule>;

/** Decides when a call stops. One rule observes all rows and steps of a call. */
export function createStopRule() {
  const rowByAnswer = new Map<string, string>();
  let reason: Failure | undefined;
  return {
    /** The failure that concerns all rows; undefined while there is none. */
    get reason(): Failure | undefined {
      return reason;
    },
    observe(row: string, failure: Failure): void {
      const { facts } = failure;
      const answer = `${facts.status} ${facts.code}`;
      const isRepeated = mayConcernAllRows(facts) && (rowByAnswer.get(answer) ?? row) !== row;
      if (concernsAllRows(facts) || isRepeated) reason ??= failure;
      if (mayConcernAllRows(facts) && !rowByAnswer.has(answer)) rowByAnswer.set(answer, row);
    },
  };
}

/** Returns true if the row has the failure of the call, which is not a fact about the row. */
const isStopOf = (stop: Failure | undefined, failure: Failure | undefined): boolean =>
  stop !== undefined &&
  failure !== undefined &&
  failure.facts.status === stop.facts.status &&
  failure.facts.code === stop.facts.code &&
  failure.facts.kind === stop.facts.kind;

interface Rows<Result> {
  readonly stopRule: StopRule;
  /** Maximum number of rows in progress (default 4). */
  readonly inFlight?: number;
  /** Returns false if no more rows may be started (default: always true). */
  readonly mayStart?: () => boolean | Promise<boolean>;
  /** `failure`: why the row failed. */
  readonly work: (row: string) => Promise<Result>;
  /** Returns true if the row remains in progress, so that its worker starts no other (default: always false). */
  readonly occupies?: (result: Result) => boolean;
  readonly onResult?: (row: string, result: Result, ended: number) => void;
}

/**
 * Runs `work` for the rows in their order, and returns the results. Rows without a result were not started: the call was stopped or had no
 * time. Rejects with the first error that `work` throws, after the rows in progress have ended.
 */
export async function runRows<Result extends { readonly failure?: Failure | undefined }>(
  rows: readonly string[],
  { stopRule, inFlight = MAX_IN_FLIGHT, mayStart = () => true, work, occupies, onResult }: Rows<Result>,
): Promise<ReadonlyMap<string, Result>> {
  const results = new Map<string, Result>();
  const isStopped = (): boolean => stopRule.reason !== undefined;
  await runWorkers(rows, {
    inFlight,
    mayStart: async () => !isStopped() && (await mayStart()) && !isStopped(),
    async work(row) {
      const result = await work(row);
      if (result.failure) stopRule.observe(row, result.failure);
      results.set(row, result);
      onResult?.(row, result, results.size);
      return occupies?.(result) !== true;
    },
  });
  return results;
}

/** One call for many rows. No time is left after it was stopped. */
export interface Bulk extends TimedCall {
  readonly stopRule: StopRule;
}

export function startBulk(waitSeconds: number, toolContext: ToolContext): Bulk {
  const { ctx, secondsLeft } = limitCall(waitSeconds, toolContext);
  const stopRule = createStopRule();
  return { ctx, stopRule, secondsLeft: () => (stopRule.reason ? 0 : secondsLeft()) };
}

/** What the single operation did. `refused`: the same request would be rejected again. */
export type RowOutcome = "done" | "refused" | "unknown" | "not sent";

/** The result of the single operation for one row. */
export interface SingleResult {
  /** The row as the result shows it. */
  readonly cells: Readonly<Record<string, unknown>>;
  /** Default: done. */
  readonly outcome?: RowOutcome;
  /** The result of the action. */
  readonly made?: Pick<ToolResult, "replay" | "notice" | "action">;
  /** The job as it was last read. */
  readonly job?: Job | undefined;
  readonly failure?: Failure | undefined;
  /** True if a repeated call continues with this row (default false). */
  readonly isUnfinished?: boolean;
}

export interface BulkRow extends SingleResult {
  readonly id: string;
  readonly outcome: RowOutcome;
  /** True if nothing was sent for a reason that the summary states. */
  readonly isUnsent?: boolean;
  readonly replay?: Replay | undefined;
  /** A sentence about an earlier attempt, or an earlier identical call, of an action that is not a replay. */
  readonly notice?: Text | undefined;
  /** True if an unresolved identical call was resolved under its own key, instead of using the key of this call. */
  readonly hasUnusedKey?: boolean;
}

interface BulkActions {
  /** The tool of the single operation, under which its actions are recorded. */
  readonly tool: ToolName;
  readonly ids: readonly string[];
  /** The key of the call, from which the key of each row is derived. */
  readonly idempotencyKey: string | undefined;
  /** Runs the single operation. Throws Failure. */
  single(id: string, idempotencyKey: string | undefined, ctx: ToolContext): Promise<SingleResult>;
  /** Returns the cells of a row that failed, or that was not started (without `failure`). */
  cellsOf(id: string, outcome: RowOutcome, failure?: Failure): SingleResult["cells"] | Promise<SingleResult["cells"]>;
  readonly occupies?: (row: BulkRow) => boolean;
}

function outcomeOf({ sideEffect, retryable, status = 0 }: FailureFacts): RowOutcome {
  if (sideEffect !== "none") return sideEffect;
  return !retryable && status < 500 ? "refused" : "not sent";
}

/** Runs the single operation for each row, and returns the rows in their order. Each row keeps the promise of the single operation. */
export async function runActions(
  { tool, ids, idempotencyKey: key, single, cellsOf, occupies }: BulkActions,
  { ctx, stopRule }: Bulk,
): Promise<readonly BulkRow[]> {
  const { proposedKey, api } = ctx;
  const { timing, pause } = api;
  // Even a short call starts some rows, so that each call makes progress.
  const minActionMs = Math.min(MIN_ACTION_MS, timeLeftMs(ctx, timing) / 2);
  let ended = 0;
  const report = (id: string, message: string): void =>
    ctx.report({ progress: ended, total: ids.length, message: `${formatToken(id)}: ${message}` });

  async function work(id: string): Promise<BulkRow> {
    const rowKey = key === undefined ? undefined : deriveStepKey(key, id);
    const own: ToolContext = {
      ...ctx,
      ...{ tool, followsTasks: false },
      proposedKey: proposedKey === undefined ? undefined : deriveStepKey(proposedKey, id),
      report: ({ message }) => report(id, message),
    };
    try {
      const result = await single(id, rowKey, own);
      const { replay, notice, action } = result.made ?? {};
      const hasUnusedKey = rowKey !== undefined && action !== undefined && action.idempotencyKey !== rowKey;
      return {
        id,
        outcome: "done",
        replay,
        hasUnusedKey,
        notice: replay || hasUnusedKey ? undefined : notice,
        ...result,
      };
    } catch (error) {
      const failure = toStepFailure(error, ctx);
      const outcome = outcomeOf(failure.facts);
      const { retryable: isUnfinished } = failure.facts;
      return { id, outcome, failure, isUnfinished, cells: await cellsOf(id, outcome, failure) };
    }
  }

  const results = await runRows(ids, {
    stopRule,
    mayStart: () => !ctx.signal.aborted && timeLeftMs(ctx, timing) - pause.waitMs(ctx) >= minActionMs,
    work,
    ...(occupies && { occupies }),
    onResult(id, { outcome, cells }, count) {
      ended = count;
      report(id, String(cells["state"] ?? outcome));
    },
  });
  const rows = ids.map(async (id): Promise<BulkRow> => {
    const row = results.get(id);
    const isSent = row?.outcome === "done" || row?.outcome === "unknown";
    if (row && (isSent || !isStopOf(stopRule.reason, row.failure))) return row;
    const cells = await cellsOf(id, "not sent");
    return { id, cells, outcome: "not sent", isUnsent: true, isUnfinished: true, failure: row?.failure };
  });
  return await Promise.all(rows);
}

/** Default wait after a response that shows an outage. */
const DEFAULT_WAIT_MS = 60_000;
const MAX_WAIT_MS = 366 * 24 * 3_600_000;

function waitMsAfter({ facts: { retryAfterSeconds, retryable, status = 0, at } }: Failure): number {
  if (retryAfterSeconds !== undefined) return retryAfterSeconds * 1_000;
  return retryable && (status >= 500 || status === 429 || at !== undefined) ? DEFAULT_WAIT_MS : 0;
}

/** Returns the milliseconds after which a call for these rows is useful again; 0 if the call can be repeated immediately. */
const waitMsOf = (failures: readonly Failure[], { api }: Pick<ToolContext, "api">): number =>
  failures.length === 0 ? 0 : Math.max(api.pause.leftMs(), ...failures.map(waitMsAfter));

/** "Call again after 23:55 UTC (in 150 min)". */
function callAgainText(waitMs: number, { api: { timing } }: Pick<ToolContext, "api">): string {
  const minutes = Math.ceil(Math.min(waitMs, MAX_WAIT_MS) / 60_000);
  const nowMs = timing.now();
  const [today] = new Date(nowMs).toISOString().split("T");
  const [date, time = ""] = new Date(Math.ceil(nowMs / 60_000 + minutes) * 60_000).toISOString().split("T");
  return `Call again after ${date === today ? "" : `${date} `}${time.slice(0, 5)} UTC (in ${minutes} min)`;
}

/** 'Stopped: the API answered HTTP 429 (code "QUOTA_EXHAUSTED") and asks to wait 9000 s.' */
function stoppedText({ facts, message }: Failure): string {
  const { at, status, code, retryAfterSeconds } = facts;
  if (status === undefined) return `Stopped: ${message.charAt(0).toLowerCase()}${message.slice(1)}`;
  const sender = at === "token endpoint" ? "the token endpoint" : "the API";
  const named = code === undefined ? "" : ` (code ${quote(code)})`;
  const wait = retryAfterSeconds === undefined ? "" : ` and asks to wait ${retryAfterSeconds} s`;
  return `Stopped: ${sender} answered HTTP ${status}${named}${wait}.`;
}

/** Returns when to call again, or whom to ask; undefined if a call at once makes sense. */
function laterText(
  { failures, mayContinue, promise }: Pick<BulkReport, "failures" | "mayContinue" | "promise">,
  stop: Failure | undefined,
  ctx: ToolContext,
): Words | undefined {
  if (stop && !stop.facts.retryable) {
    // The cause has no advice to resolve this action: the others of the call would remain unknown.
    return (stop.cause instanceof Failure ? stop.cause : stop).facts.next ?? [];
  }
  const waitMs = mayContinue && !stop ? 0 : waitMsOf(stop ? [stop, ...failures] : failures, ctx);
  return stop || waitMs > 0 ? `${callAgainText(waitMs, ctx)}; ${promise}.` : undefined;
}

type Sentence = Words | false | undefined;

interface BulkReport {
  /** "3 files: 2 SUCCEEDED, 1 FAILED." */
  readonly counts: Words;
  /** Present if the call did nothing. If it was also stopped, it fails: "5 files were not sent." */
  readonly nothingDone?: string | false;
  /** The effects of earlier steps, if the call did nothing else. */
  readonly earlierSteps?: string | undefined;
  /** The failures of the rows that a repeated call continues. */
  readonly failures: readonly Failure[];
  /** True if a call at once makes progress in spite of these failures. */
  readonly mayContinue: boolean;
  /** Appended to the time of the next call: "no job runs twice". */
  readonly promise: string;
  readonly sentences?: readonly Sentence[];
  /** The jobs that the result is about. */
  readonly jobs?: readonly (Job | undefined)[];
  /** Returns the call that makes sense at once. */
  nextStep(): NextStep | undefined | Promise<NextStep | undefined>;
  readonly lines?: ToolResult["lines"];
  readonly isReplay?: boolean;
}

/** Builds the result of a call for many rows. Throws Failure if the call was stopped before it did anything. */
export async function bulkResult<T extends object>(
  data: T,
  { counts, nothingDone, earlierSteps, sentences = [], jobs = [], nextStep, lines, isReplay, ...end }: BulkReport,
  { ctx, stopRule: { reason: stop } }: Pick<Bulk, "ctx" | "stopRule">,
): Promise<ToolResult<T>> {
  const later = laterText(end, stop, ctx);
  if (stop && typeof nothingDone === "string") {
    const { idempotencyKey: _, fieldErrors: __, ...facts } = stop.facts;
    const message = `${stoppedText(stop)} ${nothingDone}`;
    throw new Failure({ ...facts, message, sideEffect: "none", earlierSteps, next: later }, { cause: stop.cause });
  }
  const all: readonly Sentence[] = [stop && stoppedText(stop), counts, ...sentences, operatorNeededText(jobs), later];
  return toolResult(data, {
    summary: join(all.map((sentence) => (sentence ? toText(sentence) : undefined))),
    nextStep: later === undefined ? await nextStep() : undefined,
    lines: lines ?? [],
    ...(isReplay !== undefined && { isReplay }),
  });
}

/**
 * "Already run by an earlier identical call: 2, 12 h ago. To run them all again, pass idempotencyKey again-…." The key is offered only if the
 * call had none.
 */
function replayedText(rows: readonly BulkRow[], { verb, done }: ActionReport): string | undefined {
  const replays = rows.flatMap(({ replay }) => replay ?? []);
  const [first] = replays;
  if (first === undefined) return undefined;
  const ages = replays.map(({ earlier }) => formatDuration(earlier.ageMs));
  const upTo = ages.every((age) => age === ages[0]) ? "" : "up to ";
  const age = formatDuration(Math.max(...replays.map(({ earlier }) => earlier.ageMs)));
  const count = replays.length === rows.length ? "all" : replays.length;
  const key = first.isKeyless
    ? ` To ${verb} all again, pass idempotencyKey ${deriveRepeatKey(first.idempotencyKey)}.`
    : "";
  return `Already ${done} by an earlier identical call: ${count}, ${upTo}${age} ago.${key}`;
}

const unusedKeyText = (count: number): Sentence =>
  count > 0 &&
  `Resolved: ${formatCount(count, "outcome")} of identical calls. The new key was not used for these; to run them again, make this call again.`;

interface ActionReport extends Pick<BulkReport, "counts" | "earlierSteps" | "promise" | "sentences"> {
  /** What a row is: "file". */
  readonly noun: string;
  /** The name of the argument with the ids of the rows. */
  readonly argument: string;
  readonly verb: string;
  /** "run", as in "Already run". */
  readonly done: string;
  /** Formats the rows that are shown (default: one for each). */
  readonly format?: (rows: readonly BulkRow[]) => readonly Readonly<Record<string, unknown>>[];
  /** Other failures of requests that a repeated call makes again. */
  readonly otherFailures?: readonly Failure[];
  readonly otherJobs?: readonly Job[];
  /** More fields, each a list of rows. */
  readonly more?: Readonly<Record<string, readonly Readonly<Record<string, unknown>>[]>>;
  /** Returns the call that makes sense at once. `unfinished`: the ids of rows that a repeated call continues. */
  nextStep(unfinished: readonly string[]): NextStep | undefined | Promise<NextStep | undefined>;
}

/** Builds the result of a call that ran an action for each row. Throws Failure if the call was stopped before it sent anything. */
export async function actionsResult(rows: readonly BulkRow[], report: ActionReport, bulk: Bulk) {
  const { noun, argument, done, counts, sentences = [], earlierSteps, promise, otherFailures = [], more = {} } = report;
  const { format = (shown) => shown.map(({ cells }) => cells), otherJobs = [], nextStep } = report;
  const unfinished = rows.filter(({ isUnfinished }) => isUnfinished);
  const unsent = rows.filter(({ isUnsent }) => isUnsent).map(({ id }) => id);
  const results = format(rows.filter(({ isUnsent }) => !isUnsent));
  const notices = rows.flatMap(({ notice }) => (notice === undefined ? [] : [notice]));
  const notSent = unsent.length > 0 && { count: unsent.length, [argument]: unsent };
  const lists = Object.entries(more).filter(([, list]) => list.length > 0);
  const isUntouched = rows.length > 0 && rows.every(({ outcome }) => outcome === "not sent");
  return await bulkResult(
    { results, ...(notSent && { notSent }), ...Object.fromEntries(lists) },
    {
      counts,
      nothingDone: isUntouched && `${formatCount(rows.length, `${noun} was`, `${noun}s were`)} not ${done}.`,
      earlierSteps,
      failures: [...unfinished.flatMap(({ failure }) => failure ?? []), ...otherFailures],
      // A call at once makes sense if a row made progress in this one, and another may.
      mayContinue:
        unfinished.some(({ failure }) => !failure) &&
        rows.some(({ outcome, failure }) => !failure && outcome !== "not sent"),
      promise,
      sentences: [
        replayedText(rows, report),
        notices[0] && say`${countPart(notices.length, noun)}: ${notices[0]}`,
        unusedKeyText(rows.filter(({ hasUnusedKey }) => hasUnusedKey).length),
        ...sentences,
      ],
      jobs: [...rows.map(({ job }) => job), ...otherJobs],
      nextStep: () => nextStep(unfinished.map(({ id }) => id)),
      lines: [
        results.length > 0 ? formatRecordTable(results) : undefined,
        notSent ? `notSent ${unsent.length}: ${unsent.map((id) => formatToken(id)).join(", ")}` : undefined,
        ...lists.map(([name, list]) => `${name}:\n${formatRecordTable(list)}`),
      ],
      isReplay: rows.length > 0 && rows.every(({ replay }) => replay),
    },
    bulk,
  );
}
