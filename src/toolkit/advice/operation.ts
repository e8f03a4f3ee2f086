// Which row of the table an asynchronous operation is told by.
import type { Operation } from "../../contract/operation.ts";
import { quote, word } from "../../outside.ts";
import { uris } from "../resources/uri.ts";
import type { Subject, Telling } from "../results.ts";
import { OPERATION, type OperationCase } from "./phrases.ts";
import { problemText, strayFailure } from "./problem-text.ts";

export const isOperationMoving = ({ state }: Operation): boolean => state === "QUEUED" || state === "RUNNING";

function operationCase({ state, failure }: Operation): OperationCase {
  switch (state) {
    case "QUEUED":
    case "RUNNING":
      return "moving";
    case "SUCCEEDED":
      return "succeeded";
    case "FAILED":
      return failure === null ? "failed, unexplained" : failure.retryable ? "failed, retryable" : "failed";
    case "CANCELLED":
      return "cancelled";
  }
}

export function tellOperation(operation: Operation): Telling {
  const { id, state, originatingResourceId, resultResourceId, failure } = operation;
  const facts = {
    id,
    state,
    what: `Operation ${word(id)} (${quote(operation.operationType)} on ${word(originatingResourceId)})`,
    about: resultResourceId ?? originatingResourceId,
    failure: failure ? problemText(failure) : "",
  };
  const { says, step } = OPERATION[operationCase(operation)];
  const nextStep = step?.(facts);
  return { summary: says(facts) + strayFailure(operation), ...(nextStep && { nextStep }) };
}

export const operationSubject: Subject<Operation> = {
  uri: ({ id }) => uris.operation(id),
  tell: tellOperation,
};
