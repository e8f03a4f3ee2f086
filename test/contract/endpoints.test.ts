// The endpoint tables of docs/contract.md, 4, copied by hand, against the contract's endpoints.
import { expect, test } from "vitest";
import * as z from "zod/v4";
import { API_PREFIX, type Endpoint, scopesToRequest, TOKEN_PATH } from "../../src/contract/endpoints/endpoint.ts";
import { endpoints } from "../../src/contract/endpoints/index.ts";
import { proves } from "../proves.ts";
import * as samples from "./samples.ts";

// Every answer that any endpoint gives, and two with another API's request id: only its own passes an endpoint.
const { enveloped, micEnveloped } = samples;
const answers: Readonly<Record<string, unknown>> = {
  StatesResponse: samples.statesResponse,
  DistrictsResponse: samples.districtsResponse,
  OpenAPI: samples.openApiDocument,
  CapabilitySet: enveloped(samples.capabilitySet),
  Input: enveloped(samples.input),
  "recipe offer list page": samples.recipeList,
  RecipeOffer: micEnveloped(samples.recipeOffer),
  "RecipeOffer without micreq_": enveloped(samples.recipeOffer),
  Job: enveloped(samples.job),
  "job list page": samples.jobList,
  Operation: enveloped(samples.operation),
  UsageSummary: enveloped(samples.usageSummary),
  ProcessingRequest: micEnveloped(samples.processingRequest),
  "ProcessingRequest without micreq_": enveloped(samples.processingRequest),
};

function successOf({ success: { status, body } }: Endpoint): string {
  if (body === "binary") return `${status} binary body`;
  const passing = Object.keys(answers).filter((name) => body.safeParse(answers[name]).success);
  return `${status} ${passing.join(" or ")}`;
}

const lines = (table: string): readonly string[] => table.trim().split("\n");

const fieldsOf = (fields: z.ZodObject<z.ZodRawShape>): string =>
  Object.entries(fields.shape)
    .map(([name, field]) => (z.safeParse(field, undefined).success ? `${name}?` : name))
    .join(" ");

proves(["4.1/states", "4.1/districts", "4.1/openapi", "4.1/operation-ids"], "table 4.1", () => {
  const table = `
listPlaygroundStates | GET | /api/svc/core/developers/playground/v1/geo/states | 200 StatesResponse
listPlaygroundDistricts | GET | /api/svc/core/developers/playground/v1/geo/districts | 200 DistrictsResponse
getPlaygroundOpenApi | GET | /api/svc/core/developers/playground/v1/openapi.json | 200 OpenAPI`;
  const rows = endpoints
    .filter(({ api }) => api === "playground")
    .map((row) => [row.id, row.method, row.path, successOf(row)].join(" | "));
  expect(rows).toEqual(lines(table));
});

proves(
  [
    "4.2/get-capabilities",
    "4.2/create-input",
    "4.2/get-input",
    "4.2/get-asset-content",
    "4.2/list-recipes",
    "4.2/get-recipe",
    "4.2/create-job",
    "4.2/list-jobs",
    "4.2/get-job",
    "4.2/cancel-job",
    "4.2/retry-job",
    "4.2/get-operation",
    "4.2/get-usage",
    "4.2/create-processing-request",
    "4.2/get-processing-request",
    "2.2/meta-request-id-micreq",
  ],
  "table 4.2",
  () => {
    const table = `
getMicPublicCapabilities | GET | /v1/mic/capabilities | mic.capabilities:read | 200 CapabilitySet
createMicPublicInput | POST | /v1/mic/inputs | mic.inputs:write (+ files:read) | 201 Input
getMicPublicInput | GET | /v1/mic/inputs/{inputId} | mic.inputs:read (+ files:read) | 200 Input
getMicPublicAssetContent | GET | /v1/mic/assets/{assetId}/content | mic.assets:read (+ files:read) | 200 binary body
listMicExecutableRecipes | GET | /v1/mic/recipes | mic.recipes:read | 200 recipe offer list page
getMicExecutableRecipe | GET | /v1/mic/recipe-versions/{versionId} | mic.recipes:read | 200 RecipeOffer
createMicJob | POST | /v1/mic/jobs | mic.jobs:run | 202 Job
listMicJobs | GET | /v1/mic/jobs | mic.jobs:read | 200 job list page
getMicJob | GET | /v1/mic/jobs/{jobId} | mic.jobs:read | 200 Job
cancelMicJob | POST | /v1/mic/jobs/{jobId}/cancellations | mic.jobs:cancel | 202 Operation
retryMicJob | POST | /v1/mic/jobs/{jobId}/retries | mic.jobs:run | 202 Job
getMicPublicOperation | GET | /v1/mic/operations/{operationId} | mic.operations:read | 200 Operation
getMicPublicUsage | GET | /v1/mic/usage | mic.usage:read | 200 UsageSummary
requestMicSharedFileProcessing | POST | /v1/mic/processing-requests | mic.jobs:run (+ files:read) | 201 ProcessingRequest
getMicSharedFileProcessingRequest | GET | /v1/mic/processing-requests/{requestId} | mic.jobs:read | 200 ProcessingRequest`;
    const rows = endpoints
      .filter(({ api }) => api === "job-processing")
      .map((row) => {
        const extra = row.additionalPermissions ? ` (+ ${row.additionalPermissions.join(" ")})` : "";
        return [row.id, row.method, row.path, `${row.scope}${extra}`, successOf(row)].join(" | ");
      });
    expect(rows).toEqual(lines(table));
  },
);

test("the playground's endpoints come first, then the job-processing ones", () => {
  expect(endpoints.map(({ api }) => api)).toEqual([
    ...Array(3).fill("playground"),
    ...Array(15).fill("job-processing"),
  ]);
});

test("the playground has no scope, no key and no body", () => {
  for (const row of endpoints.filter(({ api }) => api === "playground"))
    expect(Object.keys(row).sort()).toEqual(["api", "id", "method", "path", "pathParameters", "query", "success"]);
});

proves(["4.1/closed-query", "4.2/closed-query"], "the query parameters of each endpoint that has any", () => {
  const table = `
listPlaygroundDistricts: state
getMicPublicCapabilities: workspaceId
listMicExecutableRecipes: workspaceId limit? cursor? sort?
listMicJobs: workspaceId limit? cursor?
getMicPublicUsage: workspaceId window`;
  const rows = endpoints.flatMap(({ id, query }) => (fieldsOf(query) === "" ? [] : [`${id}: ${fieldsOf(query)}`]));
  expect(rows).toEqual(lines(table));
});

// Which Idempotency-Key grammar is whose, and what each is, is shown in text.test.ts; If-Match in jobs.test.ts.
test("the request headers of the POST endpoints, and of no other", () => {
  const table = `
createMicPublicInput: Idempotency-Key as input
createMicJob: Idempotency-Key as text
cancelMicJob: Idempotency-Key as text, If-Match
retryMicJob: Idempotency-Key as text
requestMicSharedFileProcessing: Idempotency-Key as processing`;
  const rows = endpoints.flatMap(({ id, idempotencyKey, ifMatch }) => {
    const headers = [idempotencyKey ? `Idempotency-Key as ${idempotencyKey}` : "", ifMatch ? "If-Match" : ""];
    const given = headers.filter((header) => header !== "").join(", ");
    return given === "" ? [] : [`${id}: ${given}`];
  });
  expect(rows).toEqual(lines(table));
});

proves("4.2/bodies-closed", "the body fields of the POST endpoints, and of no other", () => {
  const table = `
createMicPublicInput: workspaceId inputKind referenceId alias? clientReference?
createMicJob: workspaceId recipeVersionId inputBindings parameterValues clientReference?
cancelMicJob: reason
retryMicJob: retryMode reason
requestMicSharedFileProcessing: workspaceId inputId recipeVersionId recipeVersionHash purpose expiresAt`;
  expect(endpoints.flatMap(({ id, body }) => (body ? [`${id}: ${fieldsOf(body)}`] : []))).toEqual(lines(table));
});

proves("4.2/base-path", "where each API lives below the base URL", () => {
  expect(API_PREFIX).toEqual({ playground: "", "job-processing": "/sandbox" });
  expect(TOKEN_PATH).toBe("/sandbox/oauth/token");
});

test("the table of section 5: the scopes to request", () => {
  const table = `
listPlaygroundStates:
listPlaygroundDistricts:
getPlaygroundOpenApi:
getMicPublicCapabilities: mic.capabilities:read
createMicPublicInput: files:read mic.inputs:write
getMicPublicInput: files:read mic.inputs:read
getMicPublicAssetContent: files:read mic.assets:read
listMicExecutableRecipes: mic.recipes:read
getMicExecutableRecipe: mic.recipes:read
createMicJob: mic.jobs:run
listMicJobs: mic.jobs:read
getMicJob: mic.jobs:read
cancelMicJob: mic.jobs:cancel
retryMicJob: mic.jobs:run
getMicPublicOperation: mic.operations:read
getMicPublicUsage: mic.usage:read
requestMicSharedFileProcessing: files:read mic.jobs:run
getMicSharedFileProcessingRequest: mic.jobs:read`;
  expect(endpoints.map((row) => `${row.id}: ${scopesToRequest(row).join(" ")}`.trim())).toEqual(lines(table));
});
