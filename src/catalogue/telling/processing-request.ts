// Every state of a file-processing permission request: what was decided, and the next call.
import type { ProcessingRequest } from "../../contract/processing-requests.ts";
import type { Telling } from "../results.ts";

export function tellProcessingRequest(request: ProcessingRequest): Telling {
  const what = `Processing request ${request.id}`;
  const reason = request.reasonCode === null ? "" : ` (${request.reasonCode})`;
  switch (request.state) {
    case "SUBMITTED":
    case "REVIEWABLE":
      return {
        summary: `${what} is ${request.state}: a person reviews it before a job may use the file.`,
        nextStep: {
          tool: "get_file_processing_request",
          arguments: { requestId: request.id },
          why: "read the decision later",
        },
      };
    case "APPROVED":
      return {
        summary: `${what} is APPROVED${reason} until ${request.expiresAt}: input ${request.inputId} may be processed with ${request.recipeVersionId}.`,
        nextStep: {
          tool: "get_recipe",
          arguments: { versionId: request.recipeVersionId },
          why: "shows the ports and parameters for submit_job",
        },
      };
    case "REJECTED":
      return { summary: `${what} was REJECTED${reason}; a new request needs another purpose, file or recipe.` };
    case "REVOKED":
      return { summary: `${what} was REVOKED${reason}; the file may no longer be processed.` };
  }
}
