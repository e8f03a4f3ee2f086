// This module defines the job-processing endpoints, in the order of the table (docs/contract.md, 4.2).
import * as z from "zod/v4";
import {
  envelope,
  jobCursor,
  jobPage,
  MAX_PAGE,
  micEnvelope,
  pageContradictions,
  recipeCursor,
  recipePage,
} from "../envelope.ts";
import { Input } from "../inputs.ts";
import { Job, jobContradictions, jobPageContradictions } from "../jobs.ts";
import { Operation, operationContradictions } from "../operation.ts";
import { ProcessingRequest, ProcessingRequestId } from "../processing-requests.ts";
import { MAX_OFFER_BYTES, RecipeOffer, RecipeVersionId } from "../recipes.ts";
import { chars, integer, workspaceStyleId } from "../scalars.ts";
import { CapabilitySet, UsageSummary } from "../usage.ts";
import { CancelJob, CreateInput, CreateJob, CreateProcessingRequest, RetryJob } from "./bodies.ts";
import { createEndpoints, type Endpoint } from "./endpoint.ts";

const { define, endpoints } = createEndpoints("job-processing");

/** Path ids whose format the contract does not show have 1-128 characters, like every id field (open question 6). */
const opaqueId = chars(1, 128);
const limit = integer(1, MAX_PAGE).optional();

export const getMicPublicCapabilities = define({
  id: "getMicPublicCapabilities",
  method: "GET",
  path: "/v1/mic/capabilities",
  query: z.strictObject({ workspaceId: chars(1, 128) }),
  scope: "mic.capabilities:read",
  echoes: { "/workspaceId": "workspaceId" },
  success: { status: 200, body: envelope(CapabilitySet) },
});

export const createMicPublicInput = define({
  id: "createMicPublicInput",
  method: "POST",
  path: "/v1/mic/inputs",
  body: CreateInput,
  idempotencyKey: "input",
  scope: "mic.inputs:write",
  additionalPermissions: ["files:read"],
  echoes: { "/workspaceId": "workspaceId", "/inputKind": "inputKind", "/referenceId": "referenceId" },
  success: { status: 201, body: envelope(Input) },
});

export const getMicPublicInput = define({
  id: "getMicPublicInput",
  method: "GET",
  path: "/v1/mic/inputs/{inputId}",
  pathParameters: z.strictObject({ inputId: opaqueId }),
  scope: "mic.inputs:read",
  additionalPermissions: ["files:read"],
  echoes: { "/id": "inputId" },
  success: { status: 200, body: envelope(Input) },
});

export const getMicPublicAssetContent = define({
  id: "getMicPublicAssetContent",
  method: "GET",
  path: "/v1/mic/assets/{assetId}/content",
  pathParameters: z.strictObject({ assetId: opaqueId }),
  scope: "mic.assets:read",
  additionalPermissions: ["files:read"],
  success: { status: 200, body: "binary" },
});

export const listMicExecutableRecipes = define({
  id: "listMicExecutableRecipes",
  method: "GET",
  path: "/v1/mic/recipes",
  query: z.strictObject({
    workspaceId: workspaceStyleId,
    limit,
    cursor: recipeCursor.optional(),
    sort: z.enum(["versionId"]).optional(),
  }),
  scope: "mic.recipes:read",
  echoes: { "/workspaceId": "workspaceId" },
  success: {
    status: 200,
    body: recipePage(RecipeOffer),
    contradictions: pageContradictions,
    // In compact JSON, a value takes two bytes or more: itself, and a comma or bracket.
    maxValues: (MAX_PAGE * MAX_OFFER_BYTES) / 2,
  },
});

export const getMicExecutableRecipe = define({
  id: "getMicExecutableRecipe",
  method: "GET",
  path: "/v1/mic/recipe-versions/{versionId}",
  pathParameters: z.strictObject({ versionId: RecipeVersionId }),
  scope: "mic.recipes:read",
  echoes: { "/recipe/versionId": "versionId" },
  success: { status: 200, body: micEnvelope(RecipeOffer) },
});

export const createMicJob = define({
  id: "createMicJob",
  method: "POST",
  path: "/v1/mic/jobs",
  body: CreateJob,
  idempotencyKey: "text",
  scope: "mic.jobs:run",
  echoes: { "/workspaceId": "workspaceId", "/recipeVersionId": "recipeVersionId" },
  success: { status: 202, body: envelope(Job), contradictions: jobContradictions },
});

export const listMicJobs = define({
  id: "listMicJobs",
  method: "GET",
  path: "/v1/mic/jobs",
  query: z.strictObject({ workspaceId: chars(1, 128), limit, cursor: jobCursor.optional() }),
  scope: "mic.jobs:read",
  echoes: { "/workspaceId": "workspaceId" },
  success: { status: 200, body: jobPage(Job), contradictions: jobPageContradictions },
});

export const getMicJob = define({
  id: "getMicJob",
  method: "GET",
  path: "/v1/mic/jobs/{jobId}",
  pathParameters: z.strictObject({ jobId: opaqueId }),
  scope: "mic.jobs:read",
  echoes: { "/id": "jobId" },
  success: { status: 200, body: envelope(Job), contradictions: jobContradictions },
});

export const cancelMicJob = define({
  id: "cancelMicJob",
  method: "POST",
  path: "/v1/mic/jobs/{jobId}/cancellations",
  pathParameters: z.strictObject({ jobId: opaqueId }),
  body: CancelJob,
  idempotencyKey: "text",
  ifMatch: true,
  scope: "mic.jobs:cancel",
  echoes: { "/originatingResourceId": "jobId" },
  success: { status: 202, body: envelope(Operation), contradictions: operationContradictions },
});

export const retryMicJob = define({
  id: "retryMicJob",
  method: "POST",
  path: "/v1/mic/jobs/{jobId}/retries",
  pathParameters: z.strictObject({ jobId: opaqueId }),
  body: RetryJob,
  idempotencyKey: "text",
  scope: "mic.jobs:run",
  echoes: { "/retryOfBatchId": "jobId" },
  success: { status: 202, body: envelope(Job), contradictions: jobContradictions },
});

export const getMicPublicOperation = define({
  id: "getMicPublicOperation",
  method: "GET",
  path: "/v1/mic/operations/{operationId}",
  pathParameters: z.strictObject({ operationId: opaqueId }),
  scope: "mic.operations:read",
  echoes: { "/id": "operationId" },
  success: { status: 200, body: envelope(Operation), contradictions: operationContradictions },
});

export const getMicPublicUsage = define({
  id: "getMicPublicUsage",
  method: "GET",
  path: "/v1/mic/usage",
  query: z.strictObject({ workspaceId: workspaceStyleId, window: z.enum(["DAY", "MONTH", "ENTITLEMENT"]) }),
  scope: "mic.usage:read",
  echoes: { "/workspaceId": "workspaceId" },
  success: { status: 200, body: envelope(UsageSummary) },
});

export const requestMicSharedFileProcessing = define({
  id: "requestMicSharedFileProcessing",
  method: "POST",
  path: "/v1/mic/processing-requests",
  body: CreateProcessingRequest,
  idempotencyKey: "processing",
  scope: "mic.jobs:run",
  additionalPermissions: ["files:read"],
  echoes: { "/workspaceId": "workspaceId", "/inputId": "inputId", "/recipeVersionId": "recipeVersionId" },
  success: { status: 201, body: micEnvelope(ProcessingRequest) },
});

export const getMicSharedFileProcessingRequest = define({
  id: "getMicSharedFileProcessingRequest",
  method: "GET",
  path: "/v1/mic/processing-requests/{requestId}",
  pathParameters: z.strictObject({ requestId: ProcessingRequestId }),
  scope: "mic.jobs:read",
  echoes: { "/id": "requestId" },
  success: { status: 200, body: micEnvelope(ProcessingRequest) },
});

/** The endpoints of the job-processing API, in the contract's order, which is the order above. */
export const jobProcessingEndpoints: readonly Endpoint[] = endpoints;
