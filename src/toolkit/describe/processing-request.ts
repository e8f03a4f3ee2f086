// This module describes file-processing requests.

import type { ProcessingRequest } from "../../contract/processing-requests.ts";
import type { RecipeOffer } from "../../contract/recipes.ts";
import { forReader, join, json, own, type Part, say } from "../../core/text.ts";
import { CALL_LIMIT_SECONDS } from "../../core/time-limits.ts";
import type { Advice, Describe, Status } from "../results.ts";
import { pickSummaryFields, unlistedText } from "../summary-view.ts";
import type { Ports } from "../tool-context.ts";
import { references } from "../uri.ts";

/** What a rejected request needs, by the reason. */
const NEEDS: Readonly<Record<string, Part>> = { PURPOSE_NOT_ALLOWED: own("purpose"), SOURCE_NOT_ELIGIBLE: own("file") };

/** `recipe`: undefined if it is unknown. */
function advise(request: ProcessingRequest, recipe: RecipeOffer["recipe"] | undefined): Advice {
  const { id, state, reasonCode, expiresAt, workspaceId, recipeVersionId, inputId } = request;
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
    case "APPROVED": {
      const [only, ...others] = recipe?.inputs ?? [];
      const inputs = only && others.length === 0 && [{ port: only.name, inputId }];
      const required = recipe?.parameters.definition["required"];
      const isComplete = !Array.isArray(required) || required.length === 0;
      return {
        summary: say`The request is APPROVED${reason} until ${expiresAt}: the recipe may process the input.${inputs && !isComplete && say` Run it: run_job with inputs ${json(inputs)} and your parameterValues.`}`,
        nextStep: !inputs
          ? {
              tool: "get_recipe",
              arguments: { versionId: recipeVersionId },
              why: say`shows the ports and parameters for run_job`,
            }
          : isComplete
            ? {
                tool: "run_job",
                arguments: { workspaceId, recipeVersionId, inputs, parameterValues: {} },
                why: say`runs it; the recipe requires no parameters`,
              }
            : undefined,
      };
    }
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

/** Returns the function that describes a request with the recipe that it names. */
export const describeRequestWith =
  ({ offers }: Pick<Ports, "offers">): Describe<ProcessingRequest> =>
  (request) => ({
    ...advise(request, offers.get(request.recipeVersionId)?.recipe),
    fields: pickSummaryFields(request, FIELDS),
    link: references.processingRequest(request.id),
  });

export const requestStatus = ({ revision, state }: ProcessingRequest): Status => ({
  version: revision,
  isInProgress: state === "SUBMITTED" || state === "REVIEWABLE",
  text: say`${state}`,
});
