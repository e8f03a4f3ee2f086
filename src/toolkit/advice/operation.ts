// Which phrase fits an asynchronous operation.
import type { Operation } from "../../contract/operation.ts";
import { quote, word } from "../../outside.ts";
import { ENDED } from "../jobs/ended.ts";
import { uris } from "../resources/uri.ts";
import type { Advice, Subject } from "../results.ts";
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

export function operationAdvice(operation: Operation): Advice {
  const { id, state, originatingResourceId, resultResourceId, failure } = operation;
  const facts = {
    id,
    state,
    what: `Operation ${word(id)} (${quote(operation.operationType)} on ${word(originatingResourceId)})`,
    about: resultResourceId ?? originatingResourceId,
    failure: failure ? problemText(failure) : "",
  };
  const phrase = OPERATION[operationCase(operation)];
  const nextStep = phrase.nextStep?.(facts);
  return { summary: phrase.summary(facts) + strayFailure(operation), ...(nextStep && { nextStep }) };
}

export const operationSubject: Subject<Operation> = {
  uri: ({ id }) => uris.operation(id),
  hasEnded: ({ state }) => ENDED.has(state),
  advise: operationAdvice,
};
