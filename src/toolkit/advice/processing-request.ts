// Which row of the table a file-processing permission request is told by.
import type { ProcessingRequest } from "../../contract/processing-requests.ts";
import { uris } from "../resources/uri.ts";
import type { Subject, Telling } from "../results.ts";
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

export function tellProcessingRequest(request: ProcessingRequest): Telling {
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
  const { says, step } = PROCESSING_REQUEST[requestCase(request)];
  const nextStep = step?.(facts);
  return { summary: says(facts), ...(nextStep && { nextStep }) };
}

export const processingRequestSubject: Subject<ProcessingRequest> = {
  uri: ({ id }) => uris.processingRequest(id),
  tell: tellProcessingRequest,
};
