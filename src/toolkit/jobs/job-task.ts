// This module presents a job as a task (SEP-2663): its start, its state, its poll interval, and its result after it has ended.

import * as z from "zod/v4";
import type { Job } from "../../contract/jobs.ts";
import { parseDateTime } from "../../contract/scalars.ts";
import { Failure } from "../../core/failure.ts";
import { say } from "../../core/text.ts";
import { TOOL_NAMES, type ToolName } from "../../core/tool-names.ts";
import { isJobInProgress, TERMINAL_STATES } from "../describe/job.ts";
import { resourceResult, type ToolResult } from "../results.ts";
import type { ToolContext } from "../tool-context.ts";
import { readJob } from "./batch.ts";
import { requestCancellation } from "./canceling.ts";
import { describeJobWith } from "./job-history.ts";

/** The action that started a job. These fields are sufficient to find the job again and to report on both. */
export const StartedJob = z.strictObject({
  tool: z.enum(TOOL_NAMES),
  jobId: z.string(),
  idempotencyKey: z.string(),
  attempts: z.int(),
  /** True if an earlier call had already started the job. */
  replayed: z.boolean(),
});
export type StartedJob = z.infer<typeof StartedJob>;

const MIN_POLL_MS = 1_000;
const MAX_POLL_MS = 10_000;
/** Poll interval of a job that waits for a user of the API, who takes longer than a machine. */
const WAITING_POLL_MS = 30_000;

/** Returns a tenth of the job's age (1 s to 10 s), or 30 s if the job waits for a user of the API. */
export function pollIntervalMs(job: Job, now: number): number {
  if (!isJobInProgress(job)) return WAITING_POLL_MS;
  const ageMs = now - Number((parseDateTime(job.createdAt) ?? 0n) / 1000n);
  return Math.round(Math.min(MAX_POLL_MS, Math.max(MIN_POLL_MS, ageMs / 10)));
}

/** Returns the job that a tool call has started; undefined if there is no job to wait for. */
export function startedJobFrom(tool: ToolName, { job, action }: ToolResult): StartedJob | undefined {
  if (!job || !action || TERMINAL_STATES.has(job.state)) return undefined;
  const { idempotencyKey, attempts, replayed } = action;
  return { tool, jobId: job.id, idempotencyKey, attempts, replayed };
}

/** Returns the result that the starting call would have returned if it had waited until now. Throws Failure if the job cannot be read. */
export async function readStartedJob(
  { tool, jobId, ...action }: StartedJob,
  ctx: ToolContext,
): Promise<ToolResult<Job>> {
  const answer = await readJob(jobId, ctx);
  const notice = action.replayed ? say`Not run again: the job was started before.` : undefined;
  return await resourceResult(answer, describeJobWith(ctx, { isRun: tool === "run_job" }), { action, notice });
}

const REASON = "Cancelled by the MCP client (tasks/cancel).";

/** Cancels with a generated key, so that a second cancellation, in any process, is deduplicated. Throws Failure. */
export async function cancelStartedJob({ jobId }: StartedJob, ctx: ToolContext): Promise<void> {
  const hasEnded = async () => TERMINAL_STATES.has((await readJob(jobId, ctx)).value.data.state);
  if (await hasEnded()) return;
  try {
    await requestCancellation({ jobId, reason: REASON }, ctx);
  } catch (error) {
    const isRefused = error instanceof Failure && error.facts.sideEffect === "none";
    // The job may have ended in the meantime.
    if (!isRefused || !(await hasEnded().catch(() => false))) throw error;
  }
}
