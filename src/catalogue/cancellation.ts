// Cancelling needs the job's current version (service.md, 4.2: If-Match). Left out, it is read first; a job that moves on
// in between is read again, since its agent asked to cancel it as it is now.

import type { Delivery } from "../actions/actions.ts";
import type { ActionTraits } from "../actions/identity.ts";
import { cancelMicJob, getMicJob } from "../contract/endpoints/job-processing.ts";
import { type Job, jobETag } from "../contract/jobs.ts";
import { Failure } from "../failure.ts";
import { runAction } from "./action.ts";
import { ENDED } from "./ended.ts";
import { operationSubject } from "./telling/operation.ts";
import type { ToolCall, ToolResult } from "./tool.ts";

interface CancelArguments {
  readonly jobId: string;
  readonly reason: string;
  readonly resourceVersion?: number | undefined;
  readonly idempotencyKey?: string | undefined;
}

export const cancelTraits: ActionTraits = { about: "jobId", wording: ["reason"] };

const MAX_ROUNDS = 4;

const isVersionConflict = (error: unknown): error is Failure =>
  error instanceof Failure && error.facts.kind === "precondition_failed" && error.facts.sideEffect === "none";

const readJob = async (jobId: string, call: ToolCall): Promise<Job> =>
  (await call.service.call(getMicJob, { path: { jobId } }, call.context)).value.data;

function explain(conflict: Failure, tried: number | undefined, job: Job): Failure {
  const ended = ENDED.has(job.state);
  const moved = job.resourceVersion === tried ? "" : `at version ${job.resourceVersion} and `;
  return conflict.with({
    message: `Job ${job.id} was not cancelled: the service refused ${tried === undefined ? "its version" : `version ${tried}`} as stale; the job is now ${moved}in state ${job.state}.`,
    retryable: false,
    next: ended
      ? "The job has ended; there is nothing left to cancel."
      : `If it should still be cancelled, call cancel_job again with resourceVersion ${job.resourceVersion}, or without one, and without idempotencyKey.`,
  });
}

export async function cancelAtVersion(args: CancelArguments, call: ToolCall): Promise<ToolResult> {
  const { resourceVersion, idempotencyKey } = args;
  let version = resourceVersion;
  for (let round = 1; ; round++) {
    let refused: Delivery | undefined;
    try {
      const heard: ToolCall = {
        ...call,
        // It stands for the first version; another one is another command.
        proposedKey: round === 1 ? call.proposedKey : undefined,
        carry(delivery) {
          refused = delivery;
          call.carry(delivery);
        },
      };
      return await runAction({ ...args }, heard, {
        endpoint: cancelMicJob,
        traits: cancelTraits,
        subject: operationSubject,
        findOut: "get_job shows whether the job is CANCELLED.",
        async ifMatch() {
          version ??= (await readJob(args.jobId, call)).resourceVersion;
          return jobETag(version);
        },
      });
    } catch (error) {
      if (!isVersionConflict(error)) throw error;
      const job = await readJob(args.jobId, call);
      // A key stands for one exact command: only one of our own making gives way to another for the next version.
      const fixed = resourceVersion !== undefined || idempotencyKey !== undefined;
      if (fixed || ENDED.has(job.state) || round === MAX_ROUNDS) throw explain(error, version, job);
      // Nobody need hear of this refusal: the next round is a new action.
      await refused?.sent();
      version = job.resourceVersion;
    }
  }
}
