// The job-processing endpoints, docs/contract.md, 4.2, in the order of its table.
import * as z from "zod/v4";
import {
  jobContradictions,
  jobPageContradictions,
  operationContradictions,
  pageContradictions,
} from "../contradictions.ts";
import { envelope, jobCursor, jobPage, MAX_PAGE, micEnvelope, recipeCursor, recipePage } from "../envelope.ts";
import { Input } from "../inputs.ts";
import { Job } from "../jobs.ts";
import { integer } from "../numbers.ts";
import { Operation } from "../operation.ts";
import { ProcessingRequest, ProcessingRequestId } from "../processing-requests.ts";
import { RecipeOffer, RecipeVersionId } from "../recipes.ts";
import { chars, workspaceStyleId } from "../text.ts";
import { CapabilitySet, UsageSummary } from "../usage.ts";
import { CancelJob, CreateInput, CreateJob, CreateProcessingRequest, RetryJob } from "./bodies.ts";
import { defineEndpoint, type Endpoint, none } from "./endpoint.ts";

/** Path ids whose format the contract does not show: held to the 1-128 chars that every id field has. */
const opaqueId = chars(1, 128);
const limit = integer(1, MAX_PAGE).optional();

export const getMicPublicCapabilities = defineEndpoint({
  id: "getMicPublicCapabilities",
  api: "job-processing",
  method: "GET",
  path: "/v1/mic/capabilities",
  pathParameters: none,
  query: z.strictObject({ workspaceId: chars(1, 128) }),
  scope: "mic.capabilities:read",
  success: { status: 200, body: envelope(CapabilitySet) },
});

export const createMicPublicInput = defineEndpoint({
  id: "createMicPublicInput",
  api: "job-processing",
  method: "POST",
  path: "/v1/mic/inputs",
  pathParameters: none,
  query: none,
  body: CreateInput,
  idempotencyKey: "input",
  scope: "mic.inputs:write",
  additionalPermissions: ["files:read"],
  success: { status: 201, body: envelope(Input) },
});

export const getMicPublicInput = defineEndpoint({
  id: "getMicPublicInput",
  api: "job-processing",
  method: "GET",
  path: "/v1/mic/inputs/{inputId}",
  pathParameters: z.strictObject({ inputId: opaqueId }),
  query: none,
  scope: "mic.inputs:read",
  additionalPermissions: ["files:read"],
  success: { status: 200, body: envelope(Input) },
});

export const getMicPublicAssetContent = defineEndpoint({
  id: "getMicPublicAssetContent",
  api: "job-processing",
  method: "GET",
  path: "/v1/mic/assets/{assetId}/content",
  pathParameters: z.strictObject({ assetId: opaqueId }),
  query: none,
  scope: "mic.assets:read",
  additionalPermissions: ["files:read"],
  success: { status: 200, body: "binary" },
});

export const listMicExecutableRecipes = defineEndpoint({
  id: "listMicExecutableRecipes",
  api: "job-processing",
  method: "GET",
  path: "/v1/mic/recipes",
  pathParameters: none,
  query: z.strictObject({
    workspaceId: workspaceStyleId,
    limit,
    cursor: recipeCursor.optional(),
    sort: z.enum(["versionId"]).optional(),
  }),
  scope: "mic.recipes:read",
  success: { status: 200, body: recipePage(RecipeOffer), contradictions: pageContradictions },
});

export const getMicExecutableRecipe = defineEndpoint({
  id: "getMicExecutableRecipe",
  api: "job-processing",
  method: "GET",
  path: "/v1/mic/recipe-versions/{versionId}",
  pathParameters: z.strictObject({ versionId: RecipeVersionId }),
  query: none,
  scope: "mic.recipes:read",
  success: { status: 200, body: micEnvelope(RecipeOffer) },
});

export const createMicJob = defineEndpoint({
  id: "createMicJob",
  api: "job-processing",
  method: "POST",
  path: "/v1/mic/jobs",
  pathParameters: none,
  query: none,
  body: CreateJob,
  idempotencyKey: "text",
  scope: "mic.jobs:run",
  success: { status: 202, body: envelope(Job), contradictions: jobContradictions },
});

export const listMicJobs = defineEndpoint({
  id: "listMicJobs",
  api: "job-processing",
  method: "GET",
  path: "/v1/mic/jobs",
  pathParameters: none,
  query: z.strictObject({ workspaceId: chars(1, 128), limit, cursor: jobCursor.optional() }),
  scope: "mic.jobs:read",
  success: { status: 200, body: jobPage(Job), contradictions: jobPageContradictions },
});

export const getMicJob = defineEndpoint({
  id: "getMicJob",
  api: "job-processing",
  method: "GET",
  path: "/v1/mic/jobs/{jobId}",
  pathParameters: z.strictObject({ jobId: opaqueId }),
  query: none,
  scope: "mic.jobs:read",
  success: { status: 200, body: envelope(Job), contradictions: jobContradictions },
});

export const cancelMicJob = defineEndpoint({
  id: "cancelMicJob",
  api: "job-processing",
  method: "POST",
  path: "/v1/mic/jobs/{jobId}/cancellations",
  pathParameters: z.strictObject({ jobId: opaqueId }),
  query: none,
  body: CancelJob,
  idempotencyKey: "text",
  ifMatch: true,
  scope: "mic.jobs:cancel",
  success: { status: 202, body: envelope(Operation), contradictions: operationContradictions },
});

export const retryMicJob = defineEndpoint({
  id: "retryMicJob",
  api: "job-processing",
  method: "POST",
  path: "/v1/mic/jobs/{jobId}/retries",
  pathParameters: z.strictObject({ jobId: opaqueId }),
  query: none,
  body: RetryJob,
  idempotencyKey: "text",
  scope: "mic.jobs:run",
  success: { status: 202, body: envelope(Job), contradictions: jobContradictions },
});

export const getMicPublicOperation = defineEndpoint({
  id: "getMicPublicOperation",
  api: "job-processing",
  method: "GET",
  path: "/v1/mic/operations/{operationId}",
  pathParameters: z.strictObject({ operationId: opaqueId }),
  query: none,
  scope: "mic.operations:read",
  success: { status: 200, body: envelope(Operation), contradictions: operationContradictions },
});

export const getMicPublicUsage = defineEndpoint({
  id: "getMicPublicUsage",
  api: "job-processing",
  method: "GET",
  path: "/v1/mic/usage",
  pathParameters: none,
  query: z.strictObject({ workspaceId: workspaceStyleId, window: z.enum(["DAY", "MONTH", "ENTITLEMENT"]) }),
  scope: "mic.usage:read",
  success: { status: 200, body: envelope(UsageSummary) },
});

export const requestMicSharedFileProcessing = defineEndpoint({
  id: "requestMicSharedFileProcessing",
  api: "job-processing",
  method: "POST",
  path: "/v1/mic/processing-requests",
  pathParameters: none,
  query: none,
  body: CreateProcessingRequest,
  idempotencyKey: "processing",
  scope: "mic.jobs:run",
  additionalPermissions: ["files:read"],
  success: { status: 201, body: micEnvelope(ProcessingRequest) },
});

export const getMicSharedFileProcessingRequest = defineEndpoint({
  id: "getMicSharedFileProcessingRequest",
  api: "job-processing",
  method: "GET",
  path: "/v1/mic/processing-requests/{requestId}",
  pathParameters: z.strictObject({ requestId: ProcessingRequestId }),
  query: none,
  scope: "mic.jobs:read",
  success: { status: 200, body: micEnvelope(ProcessingRequest) },
});

/** The job-processing API, in the contract's order. */
export const jobProcessingEndpoints: readonly Endpoint[] = [
  getMicPublicCapabilities,
  createMicPublicInput,
  getMicPublicInput,
  getMicPublicAssetContent,
  listMicExecutableRecipes,
  getMicExecutableRecipe,
  createMicJob,
  listMicJobs,
  getMicJob,
  cancelMicJob,
  retryMicJob,
  getMicPublicOperation,
  getMicPublicUsage,
  requestMicSharedFileProcessing,
  getMicSharedFileProcessingRequest,
];
