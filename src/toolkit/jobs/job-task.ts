// A job as a task (SEP-2663): what a tool started, its state, when to ask again, and the result when it ended.
import * as z from "zod/v4";
import { parseDateTime } from "../../contract/instants.ts";
import type { Job } from "../../contract/jobs.ts";
import { Failure } from "../../core/failure.ts";
import { createJobPresenter, isJobMoving } from "../advice/job.ts";
import { ENDED } from "../advice/job-facts.ts";
import { resourceResult, type ToolResult, toStep, withSteps } from "../results.ts";
import type { JobPorts, ToolCall } from "../tool-call.ts";
import { TOOL_NAMES, type ToolName } from "../tool-names.ts";
import { readJob } from "./batch.ts";
import { cancelJob } from "./canceling.ts";

/** The action that started a job: all that it takes to find the job again and to report on both. */
export const StartedJob = z.strictObject({
  tool: z.enum(TOOL_NAMES),
  jobId: z.string(),
  idempotencyKey: z.string(),
  attempts: z.int(),
  /** An earlier call had started the job already. */
  replayed: z.boolean(),
});
export type StartedJob = z.infer<typeof StartedJob>;

interface JobTaskStateBase {
  readonly summary: string;
  readonly createdAt: string;
  readonly lastUpdatedAt: string;
}

/** "working" is also a job that waits for a user of the API: there is nothing that the client could answer. */
export type JobTaskState = JobTaskStateBase &
  (
    | { readonly status: "working"; readonly pollIntervalMs: number }
    | { readonly status: "cancelled" }
    /** The tool's result. That the job failed is an outcome of the call, not of the protocol: `isError`. */
    | { readonly status: "completed"; readonly result: ToolResult<Job>; readonly isError: boolean }
  );

const MIN_POLL_MS = 1_000;
const MAX_POLL_MS = 10_000;
/** A user of the API takes longer than a machine. */
const WAITING_POLL_MS = 30_000;

/** The end may be noticed late by a tenth of what the job has taken. */
function pollIntervalMs(job: Job, now: number): number {
  if (!isJobMoving(job)) return WAITING_POLL_MS;
  const ageMs = now - Number((parseDateTime(job.createdAt) ?? 0n) / 1000n);
  return Math.round(Math.min(MAX_POLL_MS, Math.max(MIN_POLL_MS, ageMs / 10)));
}

/** The job that a tool's result has started; undefined if there is nothing to wait for. */
export function startedJobFrom(
  tool: ToolName,
  { summary, job, action }: ToolResult,
): (StartedJob & { taskState: JobTaskState }) | undefined {
  if (!job || !action || ENDED.has(job.state)) return undefined;
  const { createdAt, updatedAt: lastUpdatedAt } = job;
  const taskState = { status: "working", summary, createdAt, lastUpdatedAt, pollIntervalMs: MIN_POLL_MS } as const;
  return { tool, jobId: job.id, ...action, taskState };
}

/** Throws Failure. */
export async function readJobTaskState(started: StartedJob, call: ToolCall, ports: JobPorts): Promise<JobTaskState> {
  const { tool, jobId, ...action } = started;
  const answer = await readJob(jobId, call, ports);
  const { data: job } = answer.value;
  // What the call that started it would have answered, had it waited.
  const notice = action.replayed ? "Not run again: the job was started before." : undefined;
  const made = await resourceResult(answer, createJobPresenter(ports), call, { action, notice });
  const result = tool === "run_job" ? withSteps(made, [toStep("submit_job", { ...made, action })]) : made;
  const facts: JobTaskStateBase = {
    summary: result.summary,
    createdAt: job.createdAt,
    lastUpdatedAt: job.updatedAt,
  };
  if (job.state === "CANCELLED") return { ...facts, status: "cancelled" };
  if (ENDED.has(job.state)) return { ...facts, status: "completed", result, isError: job.state === "FAILED" };
  return { ...facts, status: "working", pollIntervalMs: pollIntervalMs(job, ports.service.timing.now()) };
}

const REASON = "Cancelled by the MCP client (tasks/cancel).";

/**
 * Cancels the job by the same action as cancel_job, under a key of its own, so cancelling again, in any process, is that same action. A
 * job that has ended is left alone. Throws Failure.
 */
export async function cancelStartedJob({ jobId }: StartedJob, call: ToolCall, ports: JobPorts): Promise<void> {
  const hasEnded = async () => ENDED.has((await readJob(jobId, call, ports)).value.data.state);
  if (await hasEnded()) return;
  try {
    await cancelJob({ jobId, reason: REASON }, call, ports);
  } catch (error) {
    const isRefused = error instanceof Failure && error.facts.sideEffect === "none";
    // It may have ended in the meantime.
    if (!isRefused || !(await hasEnded().catch(() => false))) throw error;
  }
}
