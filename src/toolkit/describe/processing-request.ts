// This module describes file-processing requests.

import type { ProcessingRequest } from "../../contract/processing-requests.ts";
import { forReader, join, own, type Part, say } from "../../core/text.ts";
import { CALL_LIMIT_SECONDS } from "../../core/time-limits.ts";
import type { Advice, Description, Status } from "../results.ts";
import { pickSummaryFields, unlistedText } from "../summary-view.ts";
import { references } from "../uri.ts";

/** What a rejected request needs, by the reason. */
const NEEDS: Readonly<Record<string, Part>> = { PURPOSE_NOT_ALLOWED: own("purpose"), SOURCE_NOT_ELIGIBLE: own("file") };

function advise({ id, state, reasonCode, expiresAt, recipeVersionId }: ProcessingRequest): Advice {
  const reason = reasonCode !== null && say` (${reasonCode})`;
  switch (state) {
    case "SUBMITTED":
    case "REVIEWABLE":
      return {
        isRoutine: true,
        summary: say`The request is ${state}: the recipe may process this shared file after a reviewer approves it.`,
        nextStep: {
          tool: "get_file_processing_request",
          arguments: { requestId: id, waitSeconds: CALL_LIMIT_SECONDS },
          why: say`waits for the review${forReader("; if it continues, tell the user", "")}`,
        },
      };
    case "APPROVED":
      return {
        summary: say`The request is APPROVED${reason} until ${expiresAt}: the recipe may process the input.`,
        nextStep: {
          tool: "get_recipe",
          arguments: { versionId: recipeVersionId },
          why: say`shows the ports and parameters for run_job`,
        },
      };
    case "REJECTED": {
      const needed = NEEDS[reasonCode ?? ""] ?? own("purpose, file or recipe");
      return { summary: say`The request was REJECTED${reason}; a new request needs another ${needed}.` };
    }
    case "REVOKED": {
      const never = reasonCode === "SECURITY_REVOKED" && say`Do not request permission again unless the user wants it.`;
      return { summary: join([say`The request was REVOKED${reason}; the file may no longer be processed.`, never]) };
    }
    default:
      return { summary: say`The request is ${state}${reason}. ${unlistedText(state)}` };
  }
}

const FIELDS: readonly (keyof ProcessingRequest)[] = [
  "id",
  "state",
  "inputId",
  "recipeVersionId",
  "reasonCode",
  "expiresAt",
];

export const describeRequest = (request: ProcessingRequest): Description => ({
  ...advise(request),
  fields: pickSummaryFields(request, FIELDS),
  link: references.processingRequest(request.id),
});

export const requestStatus = ({ revision, state }: ProcessingRequest): Status => ({
  version: revision,
  isInProgress: state === "SUBMITTED" || state === "REVIEWABLE",
  text: say`${state}`,
});
