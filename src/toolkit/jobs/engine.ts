// This module is the engine of the tools that work on many rows: a worker for each row, at most 4 at a time, and one rule for failures that
// concern all rows. It states facts of the API's response and does not interpret its codes.

import { formatDuration } from "../../actions/deduplication-window.ts";
import { deriveRepeatKey } from "../../actions/idempotency-keys.ts";
import { formatCount } from "../../core/counts.ts";
import { Failure, type FailureFacts, type FailureKind } from "../../core/failure.ts";
import { AGENT, render } from "../../core/text.ts";
import { quote } from "../../core/untrusted-text.ts";
import { omitUnofferedTools } from "../offered-text.ts";
import type { ActionReport, Replay } from "../results.ts";
import type { ToolContext } from "../tool-context.ts";
import { runWorkers } from "./batch.ts";

/** Maximum number of rows of one call that are in progress at a time. */
export const MAX_IN_FLIGHT = 4;

/** Failures of these kinds do not depend on the row. */
const SHARED_KINDS: ReadonlySet<FailureKind> = new Set(["not_configured", "unauthorized", "unavailable", "internal"]);

// A 429 that fails a request asks for a longer wait than the call has time for.
const concernsAllRows = ({ kind, status, at }: FailureFacts): boolean =>
  at !== undefined || SHARED_KINDS.has(kind) || status === 401 || status === 429 || kind === "rate_limited";

/** A 403 or 5xx may concern one row only: a file without permission must not stop the others. */
const mayConcernAllRows = ({ status = 0, fieldErrors = [] }: FailureFacts): boolean =>
  (status === 403 || status >= 500) && fieldErrors.length === 0;

export type StopRule = ReturnType<typeof createStopRule>;

/** Decides when a batch stops. One rule observes all rows and steps of a call. */
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

/** Returns true if the row has the failure of the batch, which is not a fact about the row. */
export const isStopOf = (stop: Failure | undefined, failure: Failure | undefined): boolean =>
  stop !== undefined &&
  failure !== undefined &&
  failure.facts.status === stop.facts.status &&
  failure.facts.code === stop.facts.code &&
  failure.facts.kind === stop.facts.kind;

interface Batch<Result> {
  readonly stopRule: StopRule;
  /** Maximum number of rows in progress (default 4). */
  readonly inFlight?: number;
  /** Returns false if no more rows may be started. `ended`: the number of rows that have ended (default: always true). */
  readonly mayStart?: (ended: number) => boolean | Promise<boolean>;
  /** `failure`: why the row failed. `isUnfinished`: the row remains in progress, so that its worker starts no other. */
  readonly work: (row: string) => Promise<Result>;
  readonly onResult?: (row: string, result: Result, ended: number) => void;
}

/**
 * Runs `work` for the rows in their order, and returns the results. Rows without a result were not started: the batch was stopped or had no
 * time. Rejects with the first error that `work` throws, after the rows in progress have ended.
 */
export async function runRows<Result extends { readonly failure?: Failure; readonly isUnfinished?: boolean }>(
  rows: readonly string[],
  { stopRule, inFlight = MAX_IN_FLIGHT, mayStart = () => true, work, onResult }: Batch<Result>,
): Promise<ReadonlyMap<string, Result>> {
  const results = new Map<string, Result>();
  const isStopped = (): boolean => stopRule.reason !== undefined;
  await runWorkers(rows, {
    inFlight,
    mayStart: async () => !isStopped() && (await mayStart(results.size)) && !isStopped(),
    async work(row) {
      const result = await work(row);
      if (result.failure) stopRule.observe(row, result.failure);
      results.set(row, result);
      onResult?.(row, result, results.size);
      return result.isUnfinished !== true;
    },
  });
  return results;
}

/**
 * "Already run by an earlier identical call: 2, 12 h ago. To run them again, pass idempotencyKey again-…." `verb`: what was done. The key is
 * offered only if the call had none.
 */
export function replayedText(verb: "run" | "retried", replays: readonly Replay[], count: string): string | undefined {
  const [first] = replays;
  if (first === undefined) return undefined;
  const ages = replays.map(({ earlier }) => formatDuration(earlier.ageMs));
  const upTo = ages.every((age) => age === ages[0]) ? "" : "up to ";
  const age = formatDuration(Math.max(...replays.map(({ earlier }) => earlier.ageMs)));
  const again = verb === "run" ? "run" : "retry";
  const key = first.isKeyless
    ? ` To ${again} all again, pass idempotencyKey ${deriveRepeatKey(first.idempotencyKey)}.`
    : "";
  return `Already ${verb} by an earlier identical call: ${count}, ${upTo}${age} ago.${key}`;
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
  failures.length === 0 ? 0 : Math.max(api.outageLeftMs(), ...failures.map(waitMsAfter));

/** "Call again after 23:55 UTC (in 150 min)". */
function callAgainText(waitMs: number, { api: { timing } }: Pick<ToolContext, "api">): string {
  const minutes = Math.ceil(Math.min(waitMs, MAX_WAIT_MS) / 60_000);
  const nowMs = timing.now();
  const [today] = new Date(nowMs).toISOString().split("T");
  const [date, time = ""] = new Date(Math.ceil(nowMs / 60_000 + minutes) * 60_000).toISOString().split("T");
  return `Call again after ${date === today ? "" : `${date} `}${time.slice(0, 5)} UTC (in ${minutes} min)`;
}

/** 'Stopped: the API answered HTTP 429 (code "QUOTA_EXHAUSTED") and asks to wait 9000 s.' */
export function stoppedText({ facts, message }: Failure): string {
  const { at, status, code, retryAfterSeconds } = facts;
  if (status === undefined) return `Stopped: ${message.charAt(0).toLowerCase()}${message.slice(1)}`;
  const sender = at === "token endpoint" ? "the token endpoint" : "the API";
  const named = code === undefined ? "" : ` (code ${quote(code)})`;
  const wait = retryAfterSeconds === undefined ? "" : ` and asks to wait ${retryAfterSeconds} s`;
  return `Stopped: ${sender} answered HTTP ${status}${named}${wait}.`;
}

/**
 * Returns when to call again, or whom to ask; undefined if a call at once makes sense. `failures`: those of the rows that a repeated call
 * continues. `mayContinue`: such a call makes progress in spite of these failures. `promise`: appended to the time.
 */
export function laterText(
  { stop, failures, mayContinue }: BatchEnd,
  promise: string,
  ctx: ToolContext,
): string | undefined {
  if (stop && !stop.facts.retryable) {
    // The cause has no advice to resolve this action: the others of the batch would remain unknown.
    const { next = [] } = (stop.cause instanceof Failure ? stop.cause : stop).facts;
    return omitUnofferedTools(render(next, AGENT), (name) => ctx.isOffered(name));
  }
  const waitMs = mayContinue && !stop ? 0 : waitMsOf(stop ? [stop, ...failures] : failures, ctx);
  return stop || waitMs > 0 ? `${callAgainText(waitMs, ctx)}; ${promise}.` : undefined;
}

interface BatchEnd {
  /** The failure that stopped the batch. */
  readonly stop: Failure | undefined;
  readonly failures: readonly Failure[];
  readonly mayContinue: boolean;
}

/** The failure of a call that was stopped before any row had a result. `counts`: how many rows were not sent. */
export function stoppedFailure(stop: Failure, counts: string, advice: string, earlierSteps?: string): Failure {
  const { idempotencyKey: _, fieldErrors: __, ...facts } = stop.facts;
  const message = `${stoppedText(stop)} ${counts}`;
  return new Failure({ ...facts, message, sideEffect: "none", earlierSteps, next: advice }, { cause: stop.cause });
}

/** Whether a row returned the outcome of an identical call, which was unresolved, instead of using its key. */
export const isKeyUnused = (key: string | undefined, action: ActionReport | undefined): boolean =>
  key !== undefined && action !== undefined && action.idempotencyKey !== key;

/** `count`: the number of rows whose key was not used. */
export const unusedKeyText = (count: number): string | false =>
  count > 0 &&
  `Resolved: ${formatCount(count, "outcome", "outcomes")} of identical calls. The new key was not used for these; to run them again, make this call again.`;
