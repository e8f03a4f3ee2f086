// Which phrase fits a file-processing permission request.
import type { ProcessingRequest } from "../../contract/processing-requests.ts";
import { uris } from "../resources/uri.ts";
import type { Advice, Subject } from "../results.ts";
import { PROCESSING_REQUEST, type RequestCase } from "./phrases.ts";

/** A person has it before them. */
export const isInReview = ({ state }: ProcessingRequest): boolean => state === "SUBMITTED" || state === "REVIEWABLE";

function requestCase({ state, reasonCode }: ProcessingRequest): RequestCase {
  switch (state) {
    case "SUBMITTED":
    case "REVIEWABLE":
      return "in review";
    case "APPROVED":
      return "approved";
    case "REJECTED":
      if (reasonCode === "PURPOSE_NOT_ALLOWED") return "rejected, purpose";
      return reasonCode === "SOURCE_NOT_ELIGIBLE" ? "rejected, source" : "rejected";
    case "REVOKED":
      return reasonCode === "SECURITY_REVOKED" ? "revoked, security" : "revoked";
  }
}

export function processingRequestAdvice(request: ProcessingRequest): Advice {
  const { id, state, reasonCode, inputId, recipeVersionId, expiresAt } = request;
  const facts = {
    id,
    state,
    inputId,
    recipeVersionId,
    expiresAt,
    what: `Processing request ${id}`,
    reason: reasonCode === null ? "" : ` (${reasonCode})`,
  };
  const phrase = PROCESSING_REQUEST[requestCase(request)];
  const nextStep = phrase.nextStep?.(facts);
  return { summary: phrase.summary(facts), ...(nextStep && { nextStep }) };
}

export const processingRequestSubject: Subject<ProcessingRequest> = {
  uri: ({ id }) => uris.processingRequest(id),
  advise: processingRequestAdvice,
};
