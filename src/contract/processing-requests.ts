// This module defines the ProcessingRequest resource (docs/contract.md, 2.2 and 3).
import * as z from "zod/v4";
import { InputId } from "./inputs.ts";
import { RecipeVersionId } from "./recipes.ts";
import { hex64, int64, listed, prefixedId, utcInstant, workspaceStyleId } from "./scalars.ts";

export const ProcessingRequestId = prefixedId("micsharedrequest_");

export const ProcessingRequestState = listed(["SUBMITTED", "REVIEWABLE", "APPROVED", "REJECTED", "REVOKED"]);

export const ReasonCode = listed([
  "REVIEWED_PROCESSING_PURPOSE",
  "PURPOSE_NOT_ALLOWED",
  "SOURCE_NOT_ELIGIBLE",
  "ACCESS_NO_LONGER_REQUIRED",
  "SECURITY_REVOKED",
]);

export const ProcessingRequest = z.strictObject({
  id: ProcessingRequestId,
  sourceOrigin: listed(["SHARED_FILE_REQUEST"]),
  workspaceId: workspaceStyleId,
  inputId: InputId,
  recipeVersionId: RecipeVersionId,
  state: ProcessingRequestState,
  revision: int64(1n),
  requestHash: hex64,
  reviewHash: hex64.nullable(),
  reasonCode: ReasonCode.nullable(),
  createdAt: utcInstant,
  expiresAt: utcInstant,
});
export type ProcessingRequest = z.infer<typeof ProcessingRequest>;
