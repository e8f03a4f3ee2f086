// Which phrase fits an asynchronous operation.
import type { Operation } from "../../contract/operation.ts";
import { quote } from "../../outside.ts";
import { ENDED } from "../jobs/ended.ts";
import { leanFailure, pick } from "../lean.ts";
import type { MovingSubject } from "../read-resource.ts";
import { uris } from "../resources/uri.ts";
import type { Advice } from "../results.ts";
import { OPERATION, type OperationCase } from "./phrases.ts";
import { problemName, strayFailure } from "./problem-text.ts";

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

export function operationAdvice(operation: Operation): Advice {
  const { id, state, originatingResourceId, resultResourceId, failure } = operation;
  const facts = {
    id,
    state,
    what: `The operation (${quote(operation.operationType)})`,
    about: resultResourceId ?? originatingResourceId,
    failure: failure ? problemName(failure) : "",
  };
  const phrase = OPERATION[operationCase(operation)];
  const nextStep = phrase.nextStep?.(facts);
  return {
    summary: phrase.summary(facts) + strayFailure(operation),
    ...(nextStep && { nextStep }),
    isRoutine: phrase.isRoutine ?? false,
  };
}

const NAMED = ["id", "state", "operationType", "originatingResourceId", "resultResourceId", "updatedAt"];

export const operationSubject: MovingSubject<Operation> = {
  version: ({ resourceVersion }) => resourceVersion,
  isMoving: isOperationMoving,
  standing: ({ state }) => ({ is: state }),
  state: ({ state }) => state,
  uri: ({ id }) => uris.operation(id),
  hasEnded: ({ state }) => ENDED.has(state),
  advise: operationAdvice,
  lean: (operation) => ({ ...pick(operation, NAMED), ...leanFailure(operation.failure) }),
};
