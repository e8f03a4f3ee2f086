// A job as a task (SEP-2663): what a tool started, how it stands, when to ask again, and the result when it ended.

import * as z from "zod/v4";
import { parseDateTime } from "../../contract/instants.ts";
import type { Job } from "../../contract/jobs.ts";
import { Failure } from "../../failure.ts";
import { isJobMoving, jobSubject } from "../advice/job.ts";
import type { JobPorts } from "../ports.ts";
import { type ActionResult, actionResult, type ToolResult } from "../results.ts";
import type { ToolCall } from "../tool-call.ts";
import { TOOL_NAMES, type ToolName } from "../tool-names.ts";
import { cancelAtVersion } from "./cancellation.ts";
import { ENDED } from "./ended.ts";
import { readJob } from "./read-job.ts";
import { stepOf, withSteps } from "./run-steps.ts";

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

interface StandingFacts {
  readonly summary: string;
  readonly createdAt: string;
  readonly lastUpdatedAt: string;
}

/** "working" is also a job that waits for a person at the service: there is nothing that the client could answer. */
export type Standing = StandingFacts &
  (
    | { readonly status: "working"; readonly pollIntervalMs: number }
    | { readonly status: "cancelled" }
    /** The tool's result. That the job failed is an outcome of the call, not of the protocol: `isError`. */
    | { readonly status: "completed"; readonly result: ToolResult<Job>; readonly isError: boolean }
  );

const MIN_POLL_MS = 1_000;
const MAX_POLL_MS = 10_000;
/** A person at the service takes longer than a machine. */
const WAITING_POLL_MS = 30_000;

/** Hearing of the end late by a tenth of what the job has taken is soon enough. */
function pollIntervalMs(moving: boolean, createdAt: string, now: number): number {
  if (!moving) return WAITING_POLL_MS;
  const ageMs = now - Number((parseDateTime(createdAt) ?? 0n) / 1000n);
  return Math.round(Math.min(MAX_POLL_MS, Math.max(MIN_POLL_MS, ageMs / 10)));
}

/** What a tool's result says was started; undefined when there is nothing to wait for. */
export function startedBy(
  tool: ToolName,
  { advice: { summary }, data, action }: ActionResult<Job>,
): (StartedJob & { standing: Standing }) | undefined {
  if (ENDED.has(data.state)) return undefined;
  const { createdAt, updatedAt: lastUpdatedAt } = data;
  const standing = { status: "working", summary, createdAt, lastUpdatedAt, pollIntervalMs: MIN_POLL_MS } as const;
  return {
    tool,
    jobId: data.id,
    idempotencyKey: action.idempotencyKey,
    attempts: action.attempts,
    replayed: action.replayed,
    standing,
  };
}

/** Throws Failure. */
export async function standingOf(started: StartedJob, call: ToolCall, ports: JobPorts): Promise<Standing> {
  const { idempotencyKey, attempts, replayed } = started;
  const answer = await readJob(started.jobId, call, ports);
  const job: Job = answer.value.data;
  // What the call that started it would have answered, had it waited.
  const made = await actionResult(
    answer,
    jobSubject(ports),
    call,
    { idempotencyKey, replayed, attempts },
    {
      notice: replayed ? "Not run again: the job was started before." : undefined,
    },
  );
  const result = started.tool === "run_job" ? withSteps(made, [stepOf("submit_job", made)]) : made;
  const facts: StandingFacts = {
    summary: result.advice.summary,
    createdAt: job.createdAt,
    lastUpdatedAt: job.updatedAt,
  };
  if (job.state === "CANCELLED") return { ...facts, status: "cancelled" };
  if (ENDED.has(job.state)) return { ...facts, status: "completed", result, isError: job.state === "FAILED" };
  const now = ports.service.timing.now();
  return { ...facts, status: "working", pollIntervalMs: pollIntervalMs(isJobMoving(job), job.createdAt, now) };
}

const REASON = "Cancelled by the MCP client (tasks/cancel).";

const hasEnded = async (started: StartedJob, call: ToolCall, ports: JobPorts): Promise<boolean> =>
  ENDED.has((await readJob(started.jobId, call, ports)).value.data.state);

/**
 * Cancels the job by the same action as cancel_job, under a key of its own. Its outcome is delivered to nobody, so cancelling
 * again, in any process, is that same action. A job that has ended is left alone. Throws Failure.
 */
export async function cancelStarted(started: StartedJob, call: ToolCall, ports: JobPorts): Promise<void> {
  if (await hasEnded(started, call, ports)) return;
  try {
    await cancelAtVersion({ jobId: started.jobId, reason: REASON }, call, ports);
  } catch (error) {
    const refused = error instanceof Failure && error.facts.sideEffect === "none";
    // It may have ended on the way.
    if (!refused || !(await hasEnded(started, call, ports).catch(() => false))) throw error;
  }
}
