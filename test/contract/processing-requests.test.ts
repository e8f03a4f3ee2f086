import { describe, expect, test } from "vitest";
import { ProcessingRequest } from "../../src/contract/processing-requests.ts";
import { proves } from "../proves.ts";
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
  const request = objectUnderTest(ProcessingRequest, samples.processingRequest);
  proves(["2.2/all-fields-required", "2.2/closed-objects"], "has exactly its fields", request.isExactlyItsFields());
  proves(["2.2/processing-request-id", "2.2/hex"], "id", request.fields({ id: prefixedHex32("micsharedrequest_") }));
  proves(
    "2.2/processing-request-source-origin",
    "sourceOrigin",
    request.fields({ sourceOrigin: constant("SHARED_FILE_REQUEST") }),
  );
  proves(
    ["2.2/workspace-style-workspace-id", "2.2/workspace-style-id"],
    "workspaceId",
    request.fields({ workspaceId: workspaceStyleId }),
  );
  proves("2.2/processing-request-input-id", "inputId", request.fields({ inputId: prefixedHex32("micinput_") }));
  proves(
    "2.2/processing-request-recipe-version-id",
    "recipeVersionId",
    request.fields({ recipeVersionId: prefixedHex32("micrecipev_") }),
  );
  proves(
    "3/processing-request-state",
    "state",
    request.fields({ state: oneOf("SUBMITTED", "REVIEWABLE", "APPROVED", "REJECTED", "REVOKED") }),
  );
  proves(
    ["2.2/processing-request-revision", "2.2/processing-request-revision-no-coercion"],
    "revision",
    request.fields({ revision }),
  );
  proves(
    "2.2/processing-request-hashes",
    "requestHash, reviewHash",
    request.fields({ requestHash: hex64, reviewHash: nullable(hex64) }),
  );
  proves(
    "2.2/processing-request-reason-code",
    "reasonCode",
    request.fields({
      reasonCode: nullable(
        oneOf(
          "REVIEWED_PROCESSING_PURPOSE",
          "PURPOSE_NOT_ALLOWED",
          "SOURCE_NOT_ELIGIBLE",
          "ACCESS_NO_LONGER_REQUIRED",
          "SECURITY_REVOKED",
        ),
      ),
    }),
  );
  proves(
    ["2.2/processing-request-instants", "2.2/processing-request-instants-valid"],
    "createdAt, expiresAt",
    request.fields({ createdAt: utcInstant, expiresAt: utcInstant }),
  );
  request.everyFieldHasARule();
});

test("the ids have the lengths that the contract gives", () => {
  const { id, inputId, recipeVersionId } = samples.processingRequest;
  expect([id.length, inputId.length, recipeVersionId.length]).toEqual([49, 41, 43]);
});
