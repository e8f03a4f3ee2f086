// This module builds the results of calls for many rows: the counts, what stopped the call, and when to call again. It states facts of the
// API's response and does not interpret its codes.
import { formatDuration } from "../../actions/deduplication-window.ts";
import { deriveRepeatKey } from "../../actions/idempotency-keys.ts";
import type { Job } from "../../contract/jobs.ts";
import { countPart, groupByKey } from "../../core/counts.ts";
import { Failure } from "../../core/failure.ts";
import { formatRecordTable } from "../../core/table.ts";
import { join, own, quoted, type Reader, raw, render, say, type Text, withKey } from "../../core/text.ts";
import { formatToken } from "../../core/untrusted-text.ts";
import { MAX_JOBS } from "../arguments.ts";
import { operatorNeededText } from "../describe/job.ts";
import { missingIdNote } from "../id-hints.ts";
import { type NextStep, type ToolResult, toolResult } from "../results.ts";
import type { ToolContext } from "../tool-context.ts";
import type { Bulk, BulkRow, RowOutcome, ShownRow } from "./bulk.ts";

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
function callAgainText(waitMs: number, { api: { timing } }: Pick<ToolContext, "api">): Text {
  const minutes = Math.ceil(Math.min(waitMs, MAX_WAIT_MS) / 60_000);
  const nowMs = timing.now();
  const [today] = new Date(nowMs).toISOString().split("T");
  const [date, time = ""] = new Date(Math.ceil(nowMs / 60_000 + minutes) * 60_000).toISOString().split("T");
  return say`Call again after ${date !== today && say`${date} `}${time.slice(0, 5)} UTC (in ${minutes} min)`;
}

/** 'Stopped: the API answered HTTP 429 (code "QUOTA_EXHAUSTED") and asks to wait 9000 s.' */
function stoppedText({ facts: { at, status, code, retryAfterSeconds, message } }: Failure): Text {
  if (status === undefined) return say`Stopped: ${message}`;
  const sender = own(at === "token endpoint" ? "the token endpoint" : "the API");
  const named = code !== undefined && say` (code ${quoted(code)})`;
  const wait = retryAfterSeconds !== undefined && say` and asks to wait ${retryAfterSeconds} s`;
  return say`Stopped: ${sender} answered HTTP ${status}${named}${wait}.`;
}

/** Returns when to call again, or whom to ask; undefined if a call at once makes sense. */
function laterText(
  { failures, mayContinue, promise }: Pick<BulkReport, "failures" | "mayContinue" | "promise">,
  stop: Failure | undefined,
  ctx: ToolContext,
): Text | undefined {
  if (stop && !stop.facts.retryable) {
    // The cause has no advice to resolve this action: the others of the call would remain unknown.
    return (stop.cause instanceof Failure ? stop.cause : stop).facts.next ?? [];
  }
  const waitMs = mayContinue && !stop ? 0 : waitMsOf(stop ? [stop, ...failures] : failures, ctx);
  return stop || waitMs > 0 ? say`${callAgainText(waitMs, ctx)}; ${promise}.` : undefined;
}

type Sentence = Text | false | undefined;

interface BulkReport {
  /** "3 files: 2 SUCCEEDED, 1 FAILED." */
  readonly counts: Text;
  /** Present if the call did nothing. If it was also stopped, it fails: "5 files were not sent." */
  readonly nothingDone?: Text | false;
  /** The effects of earlier steps, if the call did nothing else. */
  readonly earlierSteps?: Text | undefined;
  /** The failures of the rows that a repeated call continues. */
  readonly failures: readonly Failure[];
  /** True if a call at once makes progress in spite of these failures. */
  readonly mayContinue: boolean;
  /** Appended to the time of the next call: "no job runs twice". */
  readonly promise: Text;
  readonly sentences?: readonly Sentence[];
  /** The jobs that the result is about. */
  readonly jobs?: readonly (Job | undefined)[];
  /** Returns the call that makes sense at once. */
  nextStep(): NextStep | undefined | Promise<NextStep | undefined>;
  /** The rows of the result in their fields (default: the data). */
  readonly fields?: ToolResult["fields"];
  readonly lines?: ToolResult["lines"];
  readonly isReplay?: boolean;
}

/** Builds the result of a call for many rows. Throws Failure if the call was stopped before it did anything. */
export async function bulkResult<T extends object>(
  data: T,
  {
    counts,
    nothingDone,
    earlierSteps,
    sentences = [],
    jobs = [],
    nextStep,
    fields,
    lines,
    isReplay,
    ...end
  }: BulkReport,
  { ctx, stopRule: { reason: stop } }: Pick<Bulk, "ctx" | "stopRule">,
): Promise<ToolResult<T>> {
  const later = laterText(end, stop, ctx);
  if (stop && nothingDone) {
    const { idempotencyKey: _, fieldErrors: __, ...facts } = stop.facts;
    const message = say`${stoppedText(stop)} ${nothingDone}`;
    throw new Failure({ ...facts, message, sideEffect: "none", earlierSteps, next: later }, { cause: stop.cause });
  }
  return toolResult(data, {
    summary: join([stop && stoppedText(stop), counts, ...sentences, operatorNeededText(jobs), later]),
    nextStep: later === undefined ? await nextStep() : undefined,
    ...(fields && { fields }),
    lines: lines ?? [],
    ...(isReplay !== undefined && { isReplay }),
  });
}

/**
 * "Already run by an earlier identical call: 2, 12 h ago. To run them all again, pass idempotencyKey again-…." The key is offered only if the
 * call had none.
 */
function replayedText(rows: readonly BulkRow[], { verb, done }: ActionReport): Text | undefined {
  const replays = rows.flatMap(({ replay }) => replay ?? []);
  const [first] = replays;
  if (first === undefined) return undefined;
  const ages = replays.map(({ earlier }) => formatDuration(earlier.ageMs));
  const upTo = own(ages.every((age) => age === ages[0]) ? "" : "up to ");
  const age = raw(formatDuration(Math.max(...replays.map(({ earlier }) => earlier.ageMs))));
  const count = replays.length === rows.length ? own("all") : replays.length;
  const key =
    verb !== undefined &&
    first.isKeyless &&
    say` To ${verb} all again, ${withKey(deriveRepeatKey(first.idempotencyKey))}.`;
  return say`Already ${done} by an earlier identical call: ${count}, ${upTo}${age} ago.${key}`;
}

/** The rows as their reader sees them. */
export const renderRows = (rows: readonly ShownRow[], reader: Reader): readonly ShownRow["cells"][] =>
  rows.map(({ cells, note }) => (note === undefined ? cells : { ...cells, note: render(note, reader) }));

/** Cells that differ in rows of equal outcomes. */
const OWN_CELLS: ReadonlySet<string> = new Set(["jobId", "newJobId", "outputDatasetVersionId", "idempotencyKey"]);

/**
 * Makes one row of those with equal outcomes, with the ids of their jobs. A job and the new one are a pair, so they keep a row. `isBrief`:
 * they do not, and a group names its jobs only if they need a decision, by the ids of the new ones.
 */
export function groupRows(rows: readonly ShownRow[], isBrief = false): readonly ShownRow[] {
  const keyed = rows.map((row) => {
    const common = Object.fromEntries(Object.entries(row.cells).filter(([name]) => !OWN_CELLS.has(name)));
    const pair = isBrief ? undefined : row.cells["newJobId"];
    return [JSON.stringify([common, row.note, pair]), { ...row, common }] as const;
  });
  return [...groupByKey(keyed).values()].flatMap((equal): readonly ShownRow[] => {
    const [first, ...others] = equal;
    if (first === undefined || others.length === 0) return equal;
    const { common, note } = first;
    // Jobs that succeeded or are in progress need no decision.
    const isDecided = isBrief && common["outcome"] === "retried" && common["state"] !== "FAILED";
    const jobIds = equal.map(({ cells }) => cells["newJobId"] ?? cells["jobId"]).slice(0, MAX_JOBS);
    return [{ cells: { ...common, count: equal.length, ...(!isDecided && { jobIds }) }, note }];
  });
}

/** Returns the row of an action that failed, or that was not sent. `cells`: its id, and what else is known. */
export function failedRow(
  cells: { readonly jobId: string; readonly newJobId?: string | undefined },
  outcome: RowOutcome,
  failure: Failure | undefined,
): ShownRow {
  const row = { ...cells, outcome: outcome === "refused" ? "rejected" : outcome };
  if (!failure) return { cells: row };
  const { status, code, kind, next, idempotencyKey } = failure.facts;
  const { jobId, newJobId } = cells;
  const advice = status === 409 && newJobId === undefined && outcome === "refused" ? next : undefined;
  return {
    cells: {
      ...row,
      code: code ?? kind.toUpperCase(),
      ...(outcome === "unknown" && idempotencyKey !== undefined && { idempotencyKey }),
    },
    note: missingIdNote(failure.facts, { jobId }) ?? advice,
  };
}

/** "rejected (JOB_NOT_RETRYABLE)" */
export const outcomeLabel = ({ cells: { outcome, code } }: ShownRow): string =>
  code === undefined ? String(outcome) : `${outcome} (${formatToken(String(code))})`;

const unusedKeyText = (count: number): Sentence =>
  count > 0 &&
  say`Resolved: ${countPart(count, "outcome")} of identical calls. The new key was not used for these; to run them again, make this call again.`;

interface ActionReport extends Pick<BulkReport, "counts" | "earlierSteps" | "promise" | "sentences"> {
  /** What a row is: "file". */
  readonly noun: string;
  /** The name of the argument with the ids of the rows. */
  readonly argument: string;
  /** Undefined if it makes no sense to repeat actions. */
  readonly verb: string | undefined;
  /** "run", as in "Already run". */
  readonly done: string;
  /** Formats the rows that are shown (default: one for each). */
  readonly format?: (rows: readonly ShownRow[]) => readonly ShownRow[];
  /** Other failures of requests that a repeated call makes again. */
  readonly otherFailures?: readonly Failure[];
  readonly otherJobs?: readonly Job[];
  /** More fields, each a list of rows. */
  readonly more?: Readonly<Record<string, readonly ShownRow[]>>;
  /** The call for unfinished rows, which replace its own if it names rows. */
  readonly again: Pick<NextStep, "tool" | "arguments">;
  /** Returns the call that makes sense at once if no row is unfinished and no outcome is unknown (default: none). */
  nextStep?(): NextStep | undefined | Promise<NextStep | undefined>;
}

/** The call that continues with the unfinished rows, or else looks for outcomes that it cannot find out, such as those of calls more than 20 h ago. */
function unfinishedStep(rows: readonly BulkRow[], { again, argument, noun, promise }: ActionReport) {
  const ids = rows.filter(({ isUnfinished }) => isUnfinished).map(({ id }) => id);
  if (ids.length > 0) {
    const rest = argument in again.arguments && { [argument]: ids };
    const why = say`continues with the unfinished ${noun}s; ${promise}`;
    return { ...again, arguments: { ...again.arguments, ...rest }, why };
  }
  const [key, ...others] = rows.flatMap(({ outcome, failure }) =>
    outcome === "unknown" ? (failure?.facts.idempotencyKey ?? []) : [],
  );
  if (key === undefined) return undefined;
  const args = others.length === 0 ? { idempotencyKey: key } : {};
  return { tool: "resolve_actions", arguments: args, why: say`looks for the unknown outcomes; ${promise}` } as const;
}

/** Builds the result of a call that ran an action for each row. Throws Failure if the call was stopped before it sent anything. */
export async function actionsResult(rows: readonly BulkRow[], report: ActionReport, bulk: Bulk) {
  const { noun, argument, done, counts, sentences = [], earlierSteps, promise, otherFailures = [], more = {} } = report;
  const { format = (shown) => shown, otherJobs = [], nextStep = () => undefined } = report;
  const unfinished = rows.filter(({ isUnfinished }) => isUnfinished);
  const unsent = rows.filter(({ isUnsent }) => isUnsent).map(({ id }) => id);
  const shown = format(rows.filter(({ isUnsent }) => !isUnsent));
  const notices = rows.flatMap(({ notice }) => (notice === undefined ? [] : [notice]));
  const notSent = unsent.length > 0 && { count: unsent.length, [argument]: unsent };
  const lists = Object.entries(more).filter(([, list]) => list.length > 0);
  const isUntouched = rows.length > 0 && rows.every(({ outcome }) => outcome === "not sent");
  return await bulkResult(
    { results: shown },
    {
      fields: (reader) => ({
        results: renderRows(shown, reader),
        ...(notSent && { notSent }),
        ...Object.fromEntries(lists.map(([name, list]) => [name, renderRows(list, reader)])),
      }),
      counts,
      nothingDone: isUntouched && say`${countPart(rows.length, `${noun} was`, `${noun}s were`)} not ${done}.`,
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
      nextStep: () => unfinishedStep(rows, report) ?? nextStep(),
      lines: [
        shown.length > 0 ? (reader) => formatRecordTable(renderRows(shown, reader)) : undefined,
        notSent ? `notSent ${unsent.length}: ${unsent.map((id) => formatToken(id)).join(", ")}` : undefined,
        ...lists.map(
          ([name, list]) =>
            (reader: Reader) =>
              `${name}:\n${formatRecordTable(renderRows(list, reader))}`,
        ),
      ],
      isReplay: rows.length > 0 && rows.every(({ replay }) => replay),
    },
    bulk,
  );
}
