// Cancelling needs the job's current version (docs/contract.md, 4.2: If-Match). Left out, it is read first; a job that moves on
// in between is read again, since its agent asked to cancel it as it is now.

import type { ActionTraits } from "../../actions/fingerprint.ts";
import { cancelMicJob, getMicPublicOperation } from "../../contract/endpoints/job-processing.ts";
import { type Job, jobETag } from "../../contract/jobs.ts";
import type { Operation } from "../../contract/operation.ts";
import { Failure } from "../../failure.ts";
import { word } from "../../outside.ts";
import { stateInWords } from "../advice/job.ts";
import { operationSubject } from "../advice/operation.ts";
import type { Ports } from "../ports.ts";
import { type ActionResult, callText } from "../results.ts";
import { runAction } from "../run-action.ts";
import type { ToolCall } from "../tool-call.ts";
import { ENDED } from "./ended.ts";
import { readJob } from "./read-job.ts";

interface CancelArguments {
  readonly jobId: string;
  readonly reason: string;
  readonly resourceVersion?: number | undefined;
  readonly idempotencyKey?: string | undefined;
}

export const cancelTraits: ActionTraits = { about: "jobId", identifiedBy: ["jobId"] };

const MAX_ROUNDS = 4;

const isVersionConflict = ({ facts }: Failure): boolean =>
  facts.kind === "precondition_failed" && facts.sideEffect === "none";

/** Refused, and yet an earlier attempt may have taken effect. */
const isUnknown = ({ facts }: Failure): boolean =>
  (facts.kind === "precondition_failed" || facts.kind === "conflict") && facts.sideEffect === "unknown";

const NOTHING_LEFT = "The job has ended; there is nothing left to cancel.";

/** Throws Failure: of the contract's states only these three are certain (doubt 37); what else cannot be cancelled, the service says. */
export function refuseEnded({ id, state }: Job): void {
  if (!ENDED.has(state)) return;
  throw new Failure({
    kind: "conflict",
    message: `Job ${word(id)} was not cancelled: it is ${state} already; nothing was sent.`,
    retryable: false,
    sideEffect: "none",
    next: NOTHING_LEFT,
  });
}

function explain(conflict: Failure, tried: number | undefined, job: Job): Failure {
  const moved = job.resourceVersion === tried ? "" : `at version ${job.resourceVersion} and `;
  return conflict.with({
    message: `Job ${word(job.id)} was not cancelled: the service refused ${tried === undefined ? "its version" : `version ${tried}`} as stale; the job is now ${moved}in state ${job.state}.`,
    retryable: false,
    next: ENDED.has(job.state)
      ? NOTHING_LEFT
      : `If it should still be cancelled, call cancel_job again with resourceVersion ${job.resourceVersion}, or without one, and without idempotencyKey.`,
  });
}

/** The same bytes are most likely refused again: what became of the first attempt shows in the job alone. */
function explainUnknown(conflict: Failure, jobId: string, job: Job | undefined): Failure {
  const look = callText({ tool: "get_job", arguments: { jobId, waitSeconds: 30 } });
  return conflict.with({
    ...(job && { message: `${conflict.facts.message} Job ${word(job.id)} is ${job.state} now.` }),
    retryable: false,
    next:
      job && ENDED.has(job.state)
        ? NOTHING_LEFT
        : `${look} shows whether it ends as CANCELLED; repeating this call tells no more. If the job goes on, call cancel_job with a new idempotencyKey of your own.`,
  });
}

export async function cancelAtVersion(
  args: CancelArguments,
  call: ToolCall,
  ports: Pick<Ports, "actions" | "service">,
): Promise<ActionResult<Operation>> {
  const { resourceVersion, idempotencyKey } = args;
  // What the person was shown need not be read again. A key of the agent's own stands for one version for ever, so there
  // it is: the job may have moved on while the person thought.
  let version = resourceVersion ?? (idempotencyKey === undefined ? call.shownVersion : undefined);
  for (let round = 1; ; round++) {
    try {
      // The proposed key stands for the first version; another version is another command.
      const proposedKey = round === 1 ? call.proposedKey : undefined;
      return await runAction({ ...args }, { ...call, proposedKey }, ports, {
        endpoint: cancelMicJob,
        traits: cancelTraits,
        subject: operationSubject,
        findOut: "get_job shows whether the job is CANCELLED.",
        async readNow(operationId) {
          const operation = await ports.service.call(getMicPublicOperation, { path: { operationId } }, call.context);
          const { data: job } = (await readJob(args.jobId, call, ports)).value;
          return { ...operation, state: `operation ${operation.value.data.state}, job ${stateInWords(job)}` };
        },
        async ifMatch() {
          if (version === undefined) {
            const job = (await readJob(args.jobId, call, ports)).value.data;
            refuseEnded(job);
            version = job.resourceVersion;
          }
          return jobETag(version);
        },
      });
    } catch (error) {
      if (!(error instanceof Failure)) throw error;
      if (!isVersionConflict(error) && !isUnknown(error)) throw error;
      const job = await readJob(args.jobId, call, ports).then(
        ({ value }) => value.data,
        () => undefined,
      );
      if (isUnknown(error)) throw explainUnknown(error, args.jobId, job);
      // What the refusal says is true, whatever kept us from reading the job.
      if (!job) throw error;
      // A key stands for one exact command: only one of our own making gives way to another for the next version.
      const fixed = resourceVersion !== undefined || idempotencyKey !== undefined;
      if (fixed || ENDED.has(job.state) || round === MAX_ROUNDS) throw explain(error, version, job);
      version = job.resourceVersion;
    }
  }
}
