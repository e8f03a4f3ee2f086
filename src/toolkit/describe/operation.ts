// This module describes operations.

import type { Operation } from "../../contract/operation.ts";
import { join, say } from "../../core/text.ts";
import { CALL_LIMIT_SECONDS } from "../../core/time-limits.ts";
import type { Advice, Description, NextStep, Status } from "../results.ts";
import {
  pickSummaryFields,
  problemName,
  toFailureSummary,
  unexpectedFailureText,
  unlistedText,
} from "../summary-view.ts";
import { references } from "../uri.ts";
import { TERMINAL_STATES } from "./job.ts";

function advise({ id, state, operationType, failure, resultResourceId, originatingResourceId }: Operation): Advice {
  const name = say`The operation ${operationType}`;
  // The contract does not state the kind of resource that an operation belongs to; today only jobs have operations.
  const readJob: NextStep = {
    tool: "get_job",
    arguments: { jobId: resultResourceId ?? originatingResourceId },
    why: say`shows the job now`,
  };
  switch (state) {
    case "QUEUED":
    case "RUNNING":
      return {
        isRoutine: true,
        summary: say`${name} is ${state}.`,
        nextStep: {
          tool: "get_operation",
          arguments: { operationId: id, waitSeconds: CALL_LIMIT_SECONDS },
          why: say`waits for it`,
        },
      };
    case "SUCCEEDED":
      return { summary: say`${name} SUCCEEDED.`, nextStep: readJob };
    case "CANCELLED":
      return { summary: say`${name} was CANCELLED.`, nextStep: readJob };
    case "FAILED": {
      const cause = failure === null ? say`; the API gives no reason.` : say`: ${problemName(failure)}.`;
      const again = failure?.retryable === true && say`It can be requested again.`;
      return { summary: join([say`${name} FAILED${cause}`, again]), nextStep: readJob };
    }
    default:
      return { summary: say`${name} is ${state}. ${unlistedText(state)}`, nextStep: readJob };
  }
}

const FIELDS: readonly (keyof Operation)[] = [
  "id",
  "environment",
  "state",
  "operationType",
  "originatingResourceId",
  "resultResourceId",
  "updatedAt",
];

export function describeOperation(operation: Operation): Description {
  const advice = advise(operation);
  return {
    ...advice,
    summary: join([advice.summary, unexpectedFailureText(operation)]),
    fields: { ...pickSummaryFields(operation, FIELDS), ...toFailureSummary(operation.failure) },
    link: references.operation(operation.id),
    hasEnded: TERMINAL_STATES.has(operation.state),
  };
}

export const operationStatus = ({ resourceVersion, state }: Operation): Status => ({
  version: resourceVersion,
  isInProgress: state === "QUEUED" || state === "RUNNING",
  text: say`${state}`,
});
