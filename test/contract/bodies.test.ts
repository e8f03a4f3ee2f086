import { describe } from "vitest";
import * as bodies from "../../src/contract/endpoints/bodies.ts";
import { proves } from "../proves.ts";
import {
  alphanumeric,
  anyText,
  freeFormObject,
  hex64,
  list,
  nullable,
  oneOf,
  prefixedHex32,
  text,
  unicodeText,
  utcInstant,
  workspaceStyleId,
  writtenText,
} from "./field-rules.ts";
import { objectUnderTest } from "./object-rules.ts";
import * as samples from "./samples.ts";

const binding = (port: string, inputId: string) => ({ port, inputId });

describe("POST /v1/mic/jobs", () => {
  const body = objectUnderTest(bodies.CreateJob, samples.createJob, {
    optional: ["clientReference"],
    freeForm: ["parameterValues"],
  });
  proves("4.2/bodies-closed", "has exactly its fields, so have its bindings", body.isExactlyItsFields());
  proves("4.2/job-ids", "workspaceId", body.fields({ workspaceId: workspaceStyleId }));
  proves("4.2/job-ids", "recipeVersionId", body.fields({ recipeVersionId: prefixedHex32("micrecipev_") }));
  proves(
    "4.2/job-input-bindings",
    "inputBindings",
    body.fields({ inputBindings: list(1, 32, (index) => binding(`port${index}`, `input${index}`)) }),
  );
  proves(
    "4.2/job-input-bindings-unique",
    "ports are unique, input ids are unique",
    body.fields({
      inputBindings: {
        accepts: [
          [binding("a", "b"), binding("b", "a")],
          [binding("a", "x"), binding("A", "X")],
        ],
        refuses: [],
        refusesBeyondJsonSchema: [
          [binding("a", "1"), binding("a", "2")],
          [binding("a", "1"), binding("b", "1")],
          [binding("a", "1"), binding("b", "2"), binding("c", "3"), binding("a", "4")],
        ],
      },
    }),
  );
  proves(
    "4.2/job-input-binding-port",
    "inputBindings[].port",
    body.fields({
      "inputBindings.0.port": {
        accepts: [...alphanumeric.slice(0, 52), `${alphanumeric}_-`, "a-b_9", "a".repeat(79), "a".repeat(80)],
        refuses: ["", "1a", "_a", "-a", "a.b", "a b", "é", "aé", "a\n", "a".repeat(81), ...anyText.refuses],
      },
    }),
  );
  proves(
    "4.2/job-input-binding-input-id",
    "inputBindings[].inputId",
    body.fields({ "inputBindings.0.inputId": workspaceStyleId }),
  );
  // What the values may be is for the offer's schema to say; a request body shows only that they are an object.
  proves(
    "4.2/bodies-closed",
    "parameterValues is an object, handed on",
    body.fields({ parameterValues: freeFormObject }),
  );
  proves(
    "4.2/job-client-reference",
    "clientReference",
    body.fields({ clientReference: nullable(writtenText(1, 160)) }),
  );
  body.everyFieldHasARule();
});

describe("POST /v1/mic/inputs", () => {
  const body = objectUnderTest(bodies.CreateInput, samples.createInput, { optional: ["alias", "clientReference"] });
  proves("4.2/bodies-closed", "has exactly its fields", body.isExactlyItsFields());
  proves("4.2/input-ids", "workspaceId", body.fields({ workspaceId: text(1, 128) }));
  proves("4.2/input-kind", "inputKind", body.fields({ inputKind: oneOf("M4_FILE", "ACQUISITION", "DATASET_VERSION") }));
  proves(
    "4.2/input-alias-and-client-reference",
    "alias, clientReference",
    body.fields({ alias: text(1, 160), clientReference: text(1, 160) }),
  );

  const ofDataset = { ...samples.createInput, inputKind: "DATASET_VERSION" };
  const datasetBody = objectUnderTest(bodies.CreateInput, ofDataset);
  proves("4.2/input-ids", "referenceId", datasetBody.fields({ referenceId: text(1, 128) }));
});

describe("POST /v1/mic/processing-requests", () => {
  const body = objectUnderTest(bodies.CreateProcessingRequest, samples.createProcessingRequest);
  proves("4.2/bodies-closed", "has exactly its fields", body.isExactlyItsFields());
  proves(
    "4.2/processing-request-ids",
    "workspaceId, inputId, recipeVersionId",
    body.fields({
      workspaceId: workspaceStyleId,
      inputId: prefixedHex32("micinput_"),
      recipeVersionId: prefixedHex32("micrecipev_"),
    }),
  );
  proves("4.2/processing-request-recipe-version-hash", "recipeVersionHash", body.fields({ recipeVersionHash: hex64 }));
  proves("4.2/processing-request-purpose", "purpose", body.fields({ purpose: unicodeText(160) }));
  proves("4.2/processing-request-expires-at", "expiresAt", body.fields({ expiresAt: utcInstant }));
  body.everyFieldHasARule();
});

describe("POST /v1/mic/jobs/{jobId}/cancellations", () => {
  const body = objectUnderTest(bodies.CancelJob, samples.cancelJob);
  proves("4.2/bodies-closed", "has exactly its fields", body.isExactlyItsFields());
  proves("4.2/reason", "reason", body.fields({ reason: writtenText(1, 1000) }));
  body.everyFieldHasARule();
});

describe("POST /v1/mic/jobs/{jobId}/retries", () => {
  const body = objectUnderTest(bodies.RetryJob, samples.retryJob);
  proves("4.2/bodies-closed", "has exactly its fields", body.isExactlyItsFields());
  proves("4.2/retry-mode", "retryMode", body.fields({ retryMode: oneOf("SAFE_RESUME", "RESTART") }));
  proves("4.2/reason", "reason", body.fields({ reason: writtenText(1, 1000) }));
  body.everyFieldHasARule();
});
