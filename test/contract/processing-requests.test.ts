import { describe, expect, test } from "vitest";
import { ProcessingRequest } from "../../src/contract/processing-requests.ts";
import {
  constant,
  hex64,
  nullable,
  oneOf,
  prefixedHex32,
  revision,
  utcInstant,
  workspaceStyleId,
} from "./field-rules.ts";
import { objectUnderTest } from "./object-rules.ts";
import * as samples from "./samples.ts";

describe("ProcessingRequest", () => {
  const { proves } = objectUnderTest(ProcessingRequest, samples.processingRequest);
  proves(["2.2/all-fields-required", "2.2/closed-objects"], "has exactly its fields");
  proves(["2.2/processing-request-id", "2.2/hex"], { id: prefixedHex32("micsharedrequest_") });
  proves("2.2/processing-request-source-origin", { sourceOrigin: constant("SHARED_FILE_REQUEST") });
  proves(["2.2/workspace-style-workspace-id", "2.2/workspace-style-id"], { workspaceId: workspaceStyleId });
  proves("2.2/processing-request-input-id", { inputId: prefixedHex32("micinput_") });
  proves("2.2/processing-request-recipe-version-id", { recipeVersionId: prefixedHex32("micrecipev_") });
  proves("3/processing-request-state", { state: oneOf("SUBMITTED", "REVIEWABLE", "APPROVED", "REJECTED", "REVOKED") });
  proves(["2.2/processing-request-revision", "2.2/processing-request-revision-no-coercion"], { revision });
  proves("2.2/processing-request-hashes", { requestHash: hex64, reviewHash: nullable(hex64) });
  proves("2.2/processing-request-reason-code", {
    reasonCode: nullable(
      oneOf(
        "REVIEWED_PROCESSING_PURPOSE",
        "PURPOSE_NOT_ALLOWED",
        "SOURCE_NOT_ELIGIBLE",
        "ACCESS_NO_LONGER_REQUIRED",
        "SECURITY_REVOKED",
      ),
    ),
  });
  proves(["2.2/processing-request-instants", "2.2/processing-request-instants-valid"], {
    createdAt: utcInstant,
    expiresAt: utcInstant,
  });
});

test("the ids have the lengths that the contract gives", () => {
  const { id, inputId, recipeVersionId } = samples.processingRequest;
  expect([id.length, inputId.length, recipeVersionId.length]).toEqual([49, 41, 43]);
});
