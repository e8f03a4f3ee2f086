// Operations: the records of cancellations. QUEUED -> RUNNING -> SUCCEEDED on the clock.
import { cancelMicJob } from "../../contract/endpoints/job-processing.ts";
import type { Operation } from "../../contract/operation.ts";
import { CANCELLATION_TYPE } from "../choices.ts";
import { instant } from "../clock.ts";
import type { Cancellation } from "./lifecycle.ts";

export interface OperationRecord extends Cancellation {
  readonly id: string;
  readonly jobId: string;
}

export function operationAt(
  { id, jobId, requestedAt, doneAt }: OperationRecord,
  workspaceId: string,
  now: number,
): Operation {
  const runsAt = Math.round((requestedAt + doneAt) / 2);
  const reached = [
    { at: requestedAt, state: "QUEUED" },
    { at: runsAt, state: "RUNNING" },
    { at: doneAt, state: "SUCCEEDED" },
  ] as const satisfies readonly { at: number; state: Operation["state"] }[];
  const past = reached.filter(({ at }) => at <= now);
  const latest = past.at(-1) ?? reached[0];
  return {
    id,
    workspaceId,
    environment: "SANDBOX",
    state: latest.state,
    resourceVersion: Math.max(1, past.length),
    createdAt: instant(requestedAt),
    updatedAt: instant(latest.at),
    originatingResourceId: jobId,
    operationType: CANCELLATION_TYPE,
    requiredScopes: [cancelMicJob.scope],
    resultResourceId: latest.state === "SUCCEEDED" ? jobId : null,
    failure: null,
  };
}
