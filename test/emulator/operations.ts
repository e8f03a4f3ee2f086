// The contract's tables of sections 4.1, 4.2 and 5, copied out by hand so that a slip in src/contract/endpoints shows.
import type * as z from "zod/v4";
import { envelope, jobPage, micEnvelope, recipePage } from "../../src/contract/envelope.ts";
import { Input } from "../../src/contract/inputs.ts";
import { Job } from "../../src/contract/jobs.ts";
import { Operation } from "../../src/contract/operation.ts";
import { DistrictsResponse, OpenApiDocument, StatesResponse } from "../../src/contract/playground.ts";
import { ProcessingRequest } from "../../src/contract/processing-requests.ts";
import { RecipeOffer } from "../../src/contract/recipes.ts";
import { CapabilitySet, UsageSummary } from "../../src/contract/usage.ts";

export interface OperationRow {
  readonly id: string;
  readonly method: "GET" | "POST";
  /** From the root of `{base_url}`. */
  readonly path: string;
  readonly scopes: readonly string[];
  readonly success: number;
  /** The strict schema of the success body; absent where it is raw bytes. */
  readonly answer?: z.ZodType;
}

export const operations = {
  listPlaygroundStates: {
    id: "listPlaygroundStates",
    method: "GET",
    path: "/api/svc/core/developers/playground/v1/geo/states",
    scopes: [],
    success: 200,
    answer: StatesResponse,
  },
  listPlaygroundDistricts: {
    id: "listPlaygroundDistricts",
    method: "GET",
    path: "/api/svc/core/developers/playground/v1/geo/districts",
    scopes: [],
    success: 200,
    answer: DistrictsResponse,
  },
  getPlaygroundOpenApi: {
    id: "getPlaygroundOpenApi",
    method: "GET",
    path: "/api/svc/core/developers/playground/v1/openapi.json",
    scopes: [],
    success: 200,
    answer: OpenApiDocument,
  },
  getMicPublicCapabilities: {
    id: "getMicPublicCapabilities",
    method: "GET",
    path: "/sandbox/v1/mic/capabilities",
    scopes: ["mic.capabilities:read"],
    success: 200,
    answer: envelope(CapabilitySet),
  },
  createMicPublicInput: {
    id: "createMicPublicInput",
    method: "POST",
    path: "/sandbox/v1/mic/inputs",
    scopes: ["files:read", "mic.inputs:write"],
    success: 201,
    answer: envelope(Input),
  },
  getMicPublicInput: {
    id: "getMicPublicInput",
    method: "GET",
    path: "/sandbox/v1/mic/inputs/{inputId}",
    scopes: ["files:read", "mic.inputs:read"],
    success: 200,
    answer: envelope(Input),
  },
  getMicPublicAssetContent: {
    id: "getMicPublicAssetContent",
    method: "GET",
    path: "/sandbox/v1/mic/assets/{assetId}/content",
    scopes: ["files:read", "mic.assets:read"],
    success: 200,
  },
  listMicExecutableRecipes: {
    id: "listMicExecutableRecipes",
    method: "GET",
    path: "/sandbox/v1/mic/recipes",
    scopes: ["mic.recipes:read"],
    success: 200,
    answer: recipePage(RecipeOffer),
  },
  getMicExecutableRecipe: {
    id: "getMicExecutableRecipe",
    method: "GET",
    path: "/sandbox/v1/mic/recipe-versions/{versionId}",
    scopes: ["mic.recipes:read"],
    success: 200,
    answer: micEnvelope(RecipeOffer),
  },
  createMicJob: {
    id: "createMicJob",
    method: "POST",
    path: "/sandbox/v1/mic/jobs",
    scopes: ["mic.jobs:run"],
    success: 202,
    answer: envelope(Job),
  },
  listMicJobs: {
    id: "listMicJobs",
    method: "GET",
    path: "/sandbox/v1/mic/jobs",
    scopes: ["mic.jobs:read"],
    success: 200,
    answer: jobPage(Job),
  },
  getMicJob: {
    id: "getMicJob",
    method: "GET",
    path: "/sandbox/v1/mic/jobs/{jobId}",
    scopes: ["mic.jobs:read"],
    success: 200,
    answer: envelope(Job),
  },
  cancelMicJob: {
    id: "cancelMicJob",
    method: "POST",
    path: "/sandbox/v1/mic/jobs/{jobId}/cancellations",
    scopes: ["mic.jobs:cancel"],
    success: 202,
    answer: envelope(Operation),
  },
  retryMicJob: {
    id: "retryMicJob",
    method: "POST",
    path: "/sandbox/v1/mic/jobs/{jobId}/retries",
    scopes: ["mic.jobs:run"],
    success: 202,
    answer: envelope(Job),
  },
  getMicPublicOperation: {
    id: "getMicPublicOperation",
    method: "GET",
    path: "/sandbox/v1/mic/operations/{operationId}",
    scopes: ["mic.operations:read"],
    success: 200,
    answer: envelope(Operation),
  },
  getMicPublicUsage: {
    id: "getMicPublicUsage",
    method: "GET",
    path: "/sandbox/v1/mic/usage",
    scopes: ["mic.usage:read"],
    success: 200,
    answer: envelope(UsageSummary),
  },
  requestMicSharedFileProcessing: {
    id: "requestMicSharedFileProcessing",
    method: "POST",
    path: "/sandbox/v1/mic/processing-requests",
    scopes: ["files:read", "mic.jobs:run"],
    success: 201,
    answer: micEnvelope(ProcessingRequest),
  },
  getMicSharedFileProcessingRequest: {
    id: "getMicSharedFileProcessingRequest",
    method: "GET",
    path: "/sandbox/v1/mic/processing-requests/{requestId}",
    scopes: ["mic.jobs:read"],
    success: 200,
    answer: micEnvelope(ProcessingRequest),
  },
} as const satisfies Record<string, OperationRow>;

export type OperationId = keyof typeof operations;
export type ListedOperation = OperationRow & { readonly id: OperationId };

const rows: readonly ListedOperation[] = Object.values(operations);
export const playgroundOperations = rows.filter(({ path }) => path.startsWith("/api/"));
export const jobOperations = rows.filter(({ path }) => path.startsWith("/sandbox/"));

export const allScopes: readonly string[] = [
  "files:read",
  "mic.assets:read",
  "mic.capabilities:read",
  "mic.inputs:read",
  "mic.inputs:write",
  "mic.jobs:cancel",
  "mic.jobs:read",
  "mic.jobs:run",
  "mic.operations:read",
  "mic.recipes:read",
  "mic.usage:read",
];
