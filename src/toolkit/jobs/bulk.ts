// This module is the engine of the tools that work on many rows. It calls the operation of the single tool for each row, at most 4 at a time,
// and stops at a failure that concerns all rows.
import { deriveStepKey } from "../../actions/idempotency-keys.ts";
import { timeLeftMs } from "../../api-client/attempts.ts";
import type { Job } from "../../contract/jobs.ts";
import type { Failure, FailureFacts, FailureKind } from "../../core/failure.ts";
import type { Text } from "../../core/text.ts";
import type { ToolName } from "../../core/tool-names.ts";
import { formatToken } from "../../core/untrusted-text.ts";
import type { Replay, ToolResult } from "../results.ts";
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

/** A row as the result shows it. */
export interface ShownRow {
  readonly cells: Readonly<Record<string, unknown>>;
  /** The last cell: what to know or to do about the row. */
  readonly note?: Text | undefined;
}

/** The result of the single operation for one row. */
export interface SingleResult extends ShownRow {
  /** Default: done. */
  readonly outcome?: RowOutcome;
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
  /** Returns the row of a failure, or of an operation that was not started (without `failure`). */
  failedRow(id: string, outcome: RowOutcome, failure?: Failure): ShownRow | Promise<ShownRow>;
  readonly occupies?: (row: BulkRow) => boolean;
}

function outcomeOf({ sideEffect, retryable, status = 0 }: FailureFacts): RowOutcome {
  if (sideEffect !== "none") return sideEffect;
  return !retryable && status < 500 ? "refused" : "not sent";
}

/** Runs the single operation for each row, and returns the rows in their order. Each row keeps the promise of the single operation. */
export async function runActions(
  { tool, ids, idempotencyKey: key, single, failedRow, occupies }: BulkActions,
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
      return { id, outcome, failure, isUnfinished, ...(await failedRow(id, outcome, failure)) };
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
    const shown = await failedRow(id, "not sent");
    return { id, ...shown, outcome: "not sent", isUnsent: true, isUnfinished: true, failure: row?.failure };
  });
  return await Promise.all(rows);
}
