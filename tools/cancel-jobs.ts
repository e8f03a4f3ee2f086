// This module defines cancel_jobs, which cancels several jobs after one question to the user. Each cancellation is the same action as that of
// cancel_job, so a repeated call cancels no job twice.
import * as z from "zod/v4";
import { cancelMicJob } from "../src/contract/endpoints/job-processing.ts";
import { countPart, tally } from "../src/core/counts.ts";
import { raw, say } from "../src/core/text.ts";
import {
  jobIds,
  keyArgument,
  LONG_WAIT_SECONDS,
  longWaitSeconds,
  reasonText,
  stringValidatedBy,
} from "../src/toolkit/arguments.ts";
import { defineTool } from "../src/toolkit/define-tool.ts";
import { TERMINAL_STATES } from "../src/toolkit/describe/job.ts";
import { operationStatus } from "../src/toolkit/describe/operation.ts";
import { type Bulk, type BulkRow, runActions, runRows, startBulk } from "../src/toolkit/jobs/bulk.ts";
import { actionsResult, failedRow, groupRows, outcomeLabel } from "../src/toolkit/jobs/bulk-results.ts";
import { confirmCancellations, followCancellation, requestCancellation } from "../src/toolkit/jobs/canceling.ts";
import { outputs } from "../src/toolkit/outputs.ts";
import { toStepFailure } from "../src/toolkit/tool-context.ts";

type End = Partial<Pick<BulkRow, "cells" | "isUnfinished" | "failure">>;

/** Waits for the operation of an accepted cancellation, and returns the cells with the state of the job. */
async function readEnd(jobId: string, operationId: string, { ctx, secondsLeft }: Bulk): Promise<End> {
  try {
    const { operation, answer } = await followCancellation(jobId, operationId, secondsLeft(), ctx);
    const { state } = answer.value.data;
    const outcome = state === "CANCELLED" ? "canceled" : "requested";
    const code = operation.failure && { code: operation.failure.code };
    const isUnfinished = operationStatus(operation).isInProgress && !TERMINAL_STATES.has(state);
    return { isUnfinished, cells: { jobId, outcome, state, ...code } };
  } catch (error) {
    // The cancellation was accepted; a read that fails does not change that.
    return { failure: toStepFailure(error, ctx) };
  }
}

export const cancelJobs = defineTool({
  name: "cancel_jobs",
  title: "Cancel (stop) many jobs at once",
  description: "Cancel several jobs that have not ended; their work is discarded. The user may be asked once.",
  searchHint: "stop or abort all jobs",
  effect: "cancel",
  input: z.strictObject({
    jobIds,
    reason: stringValidatedBy(cancelMicJob.body.shape.reason).describe(reasonText),
    waitSeconds: longWaitSeconds,
    ...keyArgument("text"),
  }),
  output: outputs.answer({ results: outputs.list }, { notSent: outputs.object }),
  confirm: confirmCancellations,
  async run({ waitSeconds = LONG_WAIT_SECONDS, ...again }, toolContext) {
    const bulk = startBulk(waitSeconds, toolContext);
    const { reason, idempotencyKey } = again;
    /** The operations of the accepted cancellations, by the id of their job. */
    const operations = new Map<string, string>();
    const requested = await runActions(
      {
        ...{ tool: "cancel_job", ids: again.jobIds, idempotencyKey },
        async single(jobId, key, ctx) {
          const args = { jobId, reason, isDerivedKey: true };
          const made = await requestCancellation(key === undefined ? args : { ...args, idempotencyKey: key }, ctx);
          const { id: operationId } = made.data;
          operations.set(jobId, operationId);
          return { made, isUnfinished: true, cells: { jobId, outcome: "requested", operationId } };
        },
        failedRow: (jobId, outcome, failure) => failedRow({ jobId }, outcome, failure),
      },
      bulk,
    );
    // All are requested before the call waits for one.
    const ended = await runRows([...operations.keys()], {
      stopRule: bulk.stopRule,
      mayStart: () => bulk.secondsLeft() > 0,
      work: (jobId) => readEnd(jobId, operations.get(jobId) ?? "", bulk),
    });
    const rows = requested.map((row) => ({ ...row, ...ended.get(row.id) }));
    const hasFailed = rows.some(({ replay, cells }) => replay !== undefined && cells["code"] !== undefined);
    const labels = rows.map((row) => String(row.cells["state"] ?? outcomeLabel(row)));
    return await actionsResult(
      rows,
      {
        ...{ noun: "job", argument: "jobIds", done: "canceled", promise: say`no job is canceled twice` },
        verb: hasFailed ? "cancel" : undefined,
        counts: say`${countPart(rows.length, "job")}: ${raw(tally(labels))}.`,
        format: groupRows,
        again: { tool: "cancel_jobs", arguments: again },
      },
      bulk,
    );
  },
});
