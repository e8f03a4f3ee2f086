// Finds out by reading whether a cancellation or a retry took effect, and records it: its key cannot be used to ask again.
import type { StandingAction } from "../../actions/listing.ts";
import { Failure } from "../../failure.ts";
import { word } from "../../outside.ts";
import type { JobPorts } from "../ports.ts";
import type { ToolCall } from "../tool-call.ts";
import { ENDED } from "./ended.ts";
import { findJobs, MAX_READ } from "./find-jobs.ts";
import { readJob } from "./read-job.ts";

/** What reading shows; `record`: what the journal keeps; absent if the outcome stays unknown. */
export interface ReadOutcome {
  /** A sentence. */
  readonly finding: string;
  readonly record?: Parameters<JobPorts["actions"]["conclude"]>[1];
  /** Only of an outcome that stays unknown: reading again later may show more. */
  readonly mayShowLater?: boolean;
}

/** The clocks of this machine and of the API may differ by this much. */
const CLOCK_SLACK_MS = 5 * 60_000;

const tookEffect = (finding: string, code: string): Failure =>
  new Failure({
    kind: "conflict",
    message: `${finding} The API's answer was lost, and this was found out by reading the job.`,
    code,
    retryable: false,
    sideEffect: "done",
    next: "Nothing is left to do.",
  });

const hadNoEffect = (finding: string): Failure =>
  new Failure({
    kind: "conflict",
    message: `${finding} This was found out by reading, after the API's answer was lost.`,
    retryable: false,
    sideEffect: "none",
    next: "If it is still wanted, make the call again without idempotencyKey.",
  });

/** Throws Failure if the job cannot be read. */
export async function readCancellation(
  { about, isTooOld }: StandingAction,
  call: ToolCall,
  ports: JobPorts,
): Promise<ReadOutcome> {
  const { id, state } = (await readJob(about, call, ports)).value.data;
  const finding = `Job ${word(id)} is ${state}.`;
  if (state === "CANCELLED") return { finding, record: { failure: tookEffect(finding, state) } };
  // No cancellation takes as long as an action is sent again.
  if (ENDED.has(state) || isTooOld) return { finding, record: { failure: hadNoEffect(finding) } };
  return { finding: `${finding} It shows whether it was canceled when it has ended.`, mayShowLater: true };
}

/** Throws Failure if the job or the first page of jobs cannot be read. */
export async function readRetry(
  { about, firstSentAt }: StandingAction,
  call: ToolCall,
  ports: JobPorts,
): Promise<ReadOutcome> {
  const { workspaceId } = (await readJob(about, call, ports)).value.data;
  const filter = { createdSince: new Date(firstSentAt - CLOCK_SLACK_MS).toISOString() };
  const found = await findJobs({ workspaceId, limit: MAX_READ, filter, isFull: false }, call, ports);
  const retries = found.data
    .filter(({ retryOfBatchId }) => retryOfBatchId === about)
    .sort((one, other) => (one.createdAt < other.createdAt ? -1 : 1));
  for (const job of retries) {
    // Another action of the journal made it.
    if (await ports.actions.argumentsOf(job.id)) continue;
    const finding = `Job ${word(about)} was retried as job ${word(job.id)}.`;
    return { finding, record: { value: { data: job, meta: found.meta }, resourceId: job.id } };
  }
  const isReadBack = !found.page.hasMore || found.isRestOld;
  const finding = `${found.read.jobs} jobs were read, and none is this retry of job ${word(about)}.`;
  if (isReadBack) return { finding, record: { failure: hadNoEffect(finding) } };
  const mayShowLater = found.ended !== undefined;
  return { finding: `${finding} The list was not read back to the first attempt.`, mayShowLater };
}
