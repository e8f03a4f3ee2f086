// This module describes operations.

import type { Operation } from "../../contract/operation.ts";
import { join, toText } from "../../core/text.ts";
import { CALL_LIMIT_SECONDS } from "../../core/time-limits.ts";
import { formatToken } from "../../core/untrusted-text.ts";
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
  const name = `The operation ${formatToken(operationType)}`;
  // The contract does not state the kind of resource that an operation belongs to; today only jobs have operations.
  const readJob = (why: string): NextStep => ({
    tool: "get_job",
    arguments: { jobId: resultResourceId ?? originatingResourceId },
    why,
  });
  switch (state) {
    case "QUEUED":
    case "RUNNING":
      return {
        isRoutine: true,
        summary: `${name} is ${state}.`,
        nextStep: {
          tool: "get_operation",
          arguments: { operationId: id, waitSeconds: CALL_LIMIT_SECONDS },
          why: "waits for it",
        },
      };
    case "SUCCEEDED":
      return { summary: `${name} SUCCEEDED.`, nextStep: readJob("shows the job now") };
    case "CANCELLED":
      return { summary: `${name} was CANCELLED.`, nextStep: readJob("shows the job now") };
    case "FAILED": {
      const cause = failure === null ? "; the API gives no reason." : `: ${problemName(failure)}.`;
      const again = failure?.retryable === true ? " It can be requested again." : "";
      return { summary: `${name} FAILED${cause}${again}`, nextStep: readJob("shows the job now") };
    }
    default:
      return { summary: `${name} is ${state}. ${unlistedText(state)}`, nextStep: readJob("shows the job now") };
  }
}

const FIELDS = [
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
    summary: join([toText(advice.summary), toText(unexpectedFailureText(operation))], ""),
    fields: { ...pickSummaryFields(operation, FIELDS), ...toFailureSummary(operation.failure) },
    link: references.operation(operation.id),
    hasEnded: TERMINAL_STATES.has(operation.state),
  };
}

export const operationStatus = ({ resourceVersion, state }: Operation): Status => ({
  version: resourceVersion,
  isInProgress: state === "QUEUED" || state === "RUNNING",
  text: state,
});
