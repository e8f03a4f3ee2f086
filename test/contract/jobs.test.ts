import { describe, expect } from "vitest";
import { Job, JobETag, jobETag, STAGES, Stage } from "../../src/contract/jobs.ts";
import { proves } from "../proves.ts";
import { dateTime, eTag, integer, list, MAX_SAFE, nullable, object, oneOf, text } from "./field-rules.ts";
import { holds, objectUnderTest } from "./object-rules.ts";
import * as samples from "./samples.ts";

describe("Job", () => {
  const { proves } = objectUnderTest(Job, samples.job);
  const state = oneOf("PREPARING", "QUEUED", "RUNNING", "WAITING_REVIEW", "PAUSED", "SUCCEEDED", "FAILED", "CANCELLED");
  proves(["2.2/all-fields-required", "2.2/closed-objects"], "has exactly its fields");
  proves("2.2/job-ids", { id: text(1, 128), workspaceId: text(1, 128), recipeVersionId: text(1, 128) });
  proves("2.2/environment", { environment: oneOf("SANDBOX", "PRODUCTION") });
  proves("3/job-state", { state, processingState: state });
  proves("2.2/integer-resource-version", { resourceVersion: integer(1, MAX_SAFE) });
  proves(["2.2/created-and-updated-at", "2.2/date-time"], { createdAt: dateTime, updatedAt: dateTime });
  proves("3/job-publication-state", {
    publicationState: oneOf("NOT_REQUESTED", "AWAITING_RELEASE", "BUILDING", "ACTIVE", "WITHDRAWN"),
  });
  proves("2.2/job-nullable-ids", { outputDatasetVersionId: nullable(text(1, 128)) });
  proves("3/job-review-state", { reviewState: oneOf("NOT_REQUIRED", "PENDING", "APPROVED", "REJECTED") });
  proves("2.2/job-stages", { stages: list(0, 9, () => samples.stage) });
  proves("2.2/job-nullable-ids", { retryOfBatchId: nullable(text(1, 128)) });
  proves("2.2/failure", { failure: nullable(object(samples.problem)) });
});

describe("Stage", () => {
  const { proves } = objectUnderTest(Stage, samples.stage);
  proves(["2.2/all-fields-required", "2.2/closed-objects"], "has exactly its fields");
  proves("2.2/stage-name", {
    stage: oneOf("GATHER", "SIFT", "REFINE", "BLEND", "CHURN", "TASTE", "FREEZE", "SCOOP", "SERVE"),
  });
  proves("3/stage-state", {
    state: oneOf("PENDING", "RUNNING", "WAITING_REVIEW", "SUCCEEDED", "FAILED", "CANCELLED", "NOT_REQUIRED"),
  });
  proves("2.2/stage-attempt-count", { attemptCount: integer(0, 1000) });
  proves("2.2/stage-completed-units", { completedUnits: integer(0, MAX_SAFE) });
  proves("2.2/stage-total-units", { totalUnits: nullable(integer(0, MAX_SAFE)) });
});

proves("2.2/stage-name", "the nine stages stand in the contract's order", () => {
  expect(STAGES).toEqual(["GATHER", "SIFT", "REFINE", "BLEND", "CHURN", "TASTE", "FREEZE", "SCOOP", "SERVE"]);
});

proves("4.2/if-match-form", "If-Match is a positive integer in double quotes", holds(JobETag, eTag));

proves("4.2/if-match-form", "a version becomes its ETag", () => {
  expect([1, 42, 9007199254740991].map(jobETag)).toEqual(['"1"', '"42"', '"9007199254740991"']);
});
