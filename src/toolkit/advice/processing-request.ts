// Which phrase fits a file-processing permission request.
import type { ProcessingRequest } from "../../contract/processing-requests.ts";
import { pick } from "../lean.ts";
import type { MovingSubject } from "../read-resource.ts";
import { uris } from "../resources/uri.ts";
import type { Advice } from "../results.ts";
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
    reason: reasonCode === null ? "" : ` (${reasonCode})`,
  };
  const phrase = PROCESSING_REQUEST[requestCase(request)];
  const nextStep = phrase.nextStep?.(facts);
  return { summary: phrase.summary(facts), ...(nextStep && { nextStep }), isRoutine: phrase.isRoutine ?? false };
}

const NAMED = ["id", "state", "inputId", "recipeVersionId", "reasonCode", "expiresAt"];

export const processingRequestSubject: MovingSubject<ProcessingRequest> = {
  version: ({ revision }) => revision,
  isMoving: () => false,
  waitsForPerson: isInReview,
  standing: ({ state }) => ({ is: state }),
  state: ({ state }) => state,
  uri: ({ id }) => uris.processingRequest(id),
  advise: processingRequestAdvice,
  lean: (request) => pick(request, NAMED),
};
