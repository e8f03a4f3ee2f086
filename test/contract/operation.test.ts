import { describe } from "vitest";
import { Operation } from "../../src/contract/operation.ts";
import { proves } from "../proves.ts";
import { dateTime, integer, MAX_SAFE, nullable, object, oneOf, text, textList } from "./field-rules.ts";
import { objectUnderTest } from "./object-rules.ts";
import * as samples from "./samples.ts";

describe("Operation", () => {
  const operation = objectUnderTest(Operation, samples.operation);
  proves(["2.2/all-fields-required", "2.2/closed-objects"], "has exactly its fields", operation.isExactlyItsFields());
  proves(
    "2.2/operation-ids",
    "id, workspaceId, originatingResourceId",
    operation.fields({ id: text(1, 128), workspaceId: text(1, 128), originatingResourceId: text(1, 128) }),
  );
  proves("2.2/environment", "environment", operation.fields({ environment: oneOf("SANDBOX", "PRODUCTION") }));
  proves(
    "3/operation-state",
    "state",
    operation.fields({ state: oneOf("QUEUED", "RUNNING", "SUCCEEDED", "FAILED", "CANCELLED") }),
  );
  proves(
    "2.2/integer-resource-version",
    "resourceVersion",
    operation.fields({ resourceVersion: integer(1, MAX_SAFE) }),
  );
  proves(
    ["2.2/created-and-updated-at", "2.2/date-time"],
    "createdAt, updatedAt",
    operation.fields({ createdAt: dateTime, updatedAt: dateTime }),
  );
  proves("2.2/operation-type", "operationType", operation.fields({ operationType: text(1, 100) }));
  proves(
    "2.2/operation-required-scopes",
    "requiredScopes",
    operation.fields({ requiredScopes: textList(0, 64, text(1, 100)) }),
  );
  proves(
    "2.2/operation-result-resource-id",
    "resultResourceId",
    operation.fields({ resultResourceId: nullable(text(1, 128)) }),
  );
  proves("2.2/failure", "failure", operation.fields({ failure: nullable(object(samples.problem)) }));
  operation.everyFieldHasARule();
});
