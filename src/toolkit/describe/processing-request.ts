// This module describes file-processing requests.

import type { ProcessingRequest } from "../../contract/processing-requests.ts";
import { forReader, join, own, type Part, say } from "../../core/text.ts";
import { CALL_LIMIT_SECONDS } from "../../core/time-limits.ts";
import type { Advice, Describe, Status } from "../results.ts";
import { pickSummaryFields, unlistedText } from "../summary-view.ts";
import type { Ports } from "../tool-context.ts";
import { references } from "../uri.ts";

/** What a rejected request needs, by the reason. */
const NEEDS: Readonly<Record<string, Part>> = { PURPOSE_NOT_ALLOWED: own("purpose"), SOURCE_NOT_ELIGIBLE: own("file") };

/** `port`: the recipe's only port; undefined if it has others too, or if the recipe is unknown. */
function advise(request: ProcessingRequest, port: string | undefined): Advice {
  const { id, state, reasonCode, expiresAt, workspaceId, recipeVersionId, inputId } = request;
  const reason = reasonCode !== null && say` (${reasonCode})`;
  switch (state) {
    case "SUBMITTED":
    case "REVIEWABLE":
      return {
        isRoutine: true,
        summary: say`The request is ${state}: a reviewer must approve it before a job may use the file.`,
        nextStep: {
          tool: "get_file_processing_request",
          arguments: { requestId: id, waitSeconds: CALL_LIMIT_SECONDS },
          why: say`waits for the review, which can take days${forReader(": tell the user", "")}`,
        },
      };
    case "APPROVED":
      return {
        summary: say`The request is APPROVED${reason} until ${expiresAt}: the recipe may process the input.`,
        nextStep:
          port === undefined
            ? {
                tool: "get_recipe",
                arguments: { versionId: recipeVersionId },
                why: say`shows its ports and parameters`,
              }
            : {
                tool: "run_job",
                arguments: { workspaceId, recipeVersionId, inputs: [{ port, inputId }], parameterValues: {} },
                why: say`runs it; first fill in parameterValues`,
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

const FIELDS = ["id", "state", "inputId", "recipeVersionId", "reasonCode", "expiresAt"];

/** Returns the function that describes a request with the recipe that it names. */
export const describeRequestWith =
  ({ offers }: Pick<Ports, "offers">): Describe<ProcessingRequest> =>
  (request) => {
    const [only, ...others] = offers.get(request.recipeVersionId)?.recipe.inputs ?? [];
    return {
      ...advise(request, others.length === 0 ? only?.name : undefined),
      fields: pickSummaryFields(request, FIELDS),
      link: references.processingRequest(request.id),
    };
  };

export const requestStatus = ({ revision, state }: ProcessingRequest): Status => ({
  version: revision,
  isInProgress: state === "SUBMITTED" || state === "REVIEWABLE",
  text: say`${state}`,
});
