// Every state of an asynchronous operation: what happened and the next call.
import type { Operation } from "../../contract/operation.ts";
import type { Telling } from "../results.ts";
import { problemText, quote } from "./quote.ts";

export const isOperationMoving = ({ state }: Operation): boolean => state === "QUEUED" || state === "RUNNING";

export function tellOperation(operation: Operation): Telling {
  const { id, state, originatingResourceId, resultResourceId, failure } = operation;
  const what = `Operation ${id} (${quote(operation.operationType)} on ${originatingResourceId})`;
  // The contract does not say what kind of resource it is about; only jobs have operations today.
  const look = (why: string) => ({
    tool: "get_job",
    arguments: { jobId: resultResourceId ?? originatingResourceId },
    why,
  });
  switch (state) {
    case "QUEUED":
    case "RUNNING":
      return {
        summary: `${what} is ${state}.`,
        nextStep: {
          tool: "get_operation",
          arguments: { operationId: id, waitSeconds: 30 },
          why: "it is not finished yet; this waits for it",
        },
      };
    case "SUCCEEDED":
      return { summary: `${what} SUCCEEDED.`, nextStep: look("shows the job after it") };
    case "FAILED":
      return {
        summary: `${what} FAILED${failure ? `: ${problemText(failure)}` : "; the service gives no reason"}.`,
        nextStep: look("shows how the job stands now"),
      };
    case "CANCELLED":
      return { summary: `${what} was itself CANCELLED.`, nextStep: look("shows how the job stands now") };
  }
}
