import { describe } from "vitest";
import { Operation } from "../../src/contract/operation.ts";
import { dateTime, integer, MAX_SAFE, nullable, object, oneOf, text, textList } from "./field-rules.ts";
import { objectUnderTest } from "./object-rules.ts";
import * as samples from "./samples.ts";

describe("Operation", () => {
  const { proves } = objectUnderTest(Operation, samples.operation);
  proves(["2.2/all-fields-required", "2.2/closed-objects"], "has exactly its fields");
  proves("2.2/operation-ids", { id: text(1, 128), workspaceId: text(1, 128), originatingResourceId: text(1, 128) });
  proves("2.2/environment", { environment: oneOf("SANDBOX", "PRODUCTION") });
  proves("3/operation-state", { state: oneOf("QUEUED", "RUNNING", "SUCCEEDED", "FAILED", "CANCELLED") });
  proves("2.2/integer-resource-version", { resourceVersion: integer(1, MAX_SAFE) });
  proves(["2.2/created-and-updated-at", "2.2/date-time"], { createdAt: dateTime, updatedAt: dateTime });
  proves("2.2/operation-type", { operationType: text(1, 100) });
  proves("2.2/operation-required-scopes", { requiredScopes: textList(0, 64, text(1, 100)) });
  proves("2.2/operation-result-resource-id", { resultResourceId: nullable(text(1, 128)) });
  proves("2.2/failure", { failure: nullable(object(samples.problem)) });
});
