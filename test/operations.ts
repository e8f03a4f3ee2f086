// The one oracle of the operations: the tables of docs/contract.md, 4.1, 4.2 and 5, and the tools of docs/interface.md, copied
// out by hand, so that a slip in src/contract/endpoints or tools/ shows.
import type * as z from "zod/v4";
import { envelope, jobPage, micEnvelope, recipePage } from "../src/contract/envelope.ts";
import { Input } from "../src/contract/inputs.ts";
import { Job } from "../src/contract/jobs.ts";
import { Operation } from "../src/contract/operation.ts";
import { DistrictsResponse, OpenApiDocument, StatesResponse } from "../src/contract/playground.ts";
import { ProcessingRequest } from "../src/contract/processing-requests.ts";
import { RecipeOffer } from "../src/contract/recipes.ts";
import { CapabilitySet, UsageSummary } from "../src/contract/usage.ts";

export interface OperationRow {
  readonly id: string;
  readonly method: "GET" | "POST";
  /** From the root of `{base_url}`. */
  readonly path: string;
  /** In the order in which they are asked for; the operation's own is the last. */
  readonly scopes: readonly string[];
  readonly success: number;
  /** The strict schema of the success body; absent where it is raw bytes. */
  readonly answer?: z.ZodType;
  readonly tool: string;
  /** The tool's arguments beyond the operation's own path, query and body fields. */
  readonly adds?: readonly string[];
}

export const operations = {
  listPlaygroundStates: {
    id: "listPlaygroundStates",
    method: "GET",
    path: "/api/svc/core/developers/playground/v1/geo/states",
    scopes: [],
    success: 200,
    answer: StatesResponse,
    tool: "list_states",
  },
  listPlaygroundDistricts: {
    id: "listPlaygroundDistricts",
    method: "GET",
    path: "/api/svc/core/developers/playground/v1/geo/districts",
    scopes: [],
    success: 200,
    answer: DistrictsResponse,
    tool: "list_districts",
  },
  getPlaygroundOpenApi: {
    id: "getPlaygroundOpenApi",
    method: "GET",
    path: "/api/svc/core/developers/playground/v1/openapi.json",
    scopes: [],
    success: 200,
    answer: OpenApiDocument,
    tool: "get_geography_openapi",
  },
  getMicPublicCapabilities: {
    id: "getMicPublicCapabilities",
    method: "GET",
    path: "/sandbox/v1/mic/capabilities",
    scopes: ["mic.capabilities:read"],
    success: 200,
    answer: envelope(CapabilitySet),
    tool: "get_capabilities",
    adds: ["view"],
  },
  createMicPublicInput: {
    id: "createMicPublicInput",
    method: "POST",
    path: "/sandbox/v1/mic/inputs",
    scopes: ["files:read", "mic.inputs:write"],
    success: 201,
    answer: envelope(Input),
    tool: "register_input",
    adds: ["idempotencyKey"],
  },
  getMicPublicInput: {
    id: "getMicPublicInput",
    method: "GET",
    path: "/sandbox/v1/mic/inputs/{inputId}",
    scopes: ["files:read", "mic.inputs:read"],
    success: 200,
    answer: envelope(Input),
    tool: "get_input",
    adds: ["waitSeconds", "view"],
  },
  getMicPublicAssetContent: {
    id: "getMicPublicAssetContent",
    method: "GET",
    path: "/sandbox/v1/mic/assets/{assetId}/content",
    scopes: ["files:read", "mic.assets:read"],
    success: 200,
    tool: "download_asset",
    adds: ["fileName"],
  },
  listMicExecutableRecipes: {
    id: "listMicExecutableRecipes",
    method: "GET",
    path: "/sandbox/v1/mic/recipes",
    scopes: ["mic.recipes:read"],
    success: 200,
    answer: recipePage(RecipeOffer),
    tool: "list_recipes",
    adds: ["view"],
  },
  getMicExecutableRecipe: {
    id: "getMicExecutableRecipe",
    method: "GET",
    path: "/sandbox/v1/mic/recipe-versions/{versionId}",
    scopes: ["mic.recipes:read"],
    success: 200,
    answer: micEnvelope(RecipeOffer),
    tool: "get_recipe",
    adds: ["view"],
  },
  createMicJob: {
    id: "createMicJob",
    method: "POST",
    path: "/sandbox/v1/mic/jobs",
    scopes: ["mic.jobs:run"],
    success: 202,
    answer: envelope(Job),
    tool: "submit_job",
    adds: ["idempotencyKey"],
  },
  listMicJobs: {
    id: "listMicJobs",
    method: "GET",
    path: "/sandbox/v1/mic/jobs",
    scopes: ["mic.jobs:read"],
    success: 200,
    answer: jobPage(Job),
    tool: "list_jobs",
    adds: ["view"],
  },
  getMicJob: {
    id: "getMicJob",
    method: "GET",
    path: "/sandbox/v1/mic/jobs/{jobId}",
    scopes: ["mic.jobs:read"],
    success: 200,
    answer: envelope(Job),
    tool: "get_job",
    adds: ["waitSeconds", "view"],
  },
  cancelMicJob: {
    id: "cancelMicJob",
    method: "POST",
    path: "/sandbox/v1/mic/jobs/{jobId}/cancellations",
    scopes: ["mic.jobs:cancel"],
    success: 202,
    answer: envelope(Operation),
    tool: "cancel_job",
    adds: ["idempotencyKey", "resourceVersion"],
  },
  retryMicJob: {
    id: "retryMicJob",
    method: "POST",
    path: "/sandbox/v1/mic/jobs/{jobId}/retries",
    scopes: ["mic.jobs:run"],
    success: 202,
    answer: envelope(Job),
    tool: "retry_job",
    adds: ["idempotencyKey"],
  },
  getMicPublicOperation: {
    id: "getMicPublicOperation",
    method: "GET",
    path: "/sandbox/v1/mic/operations/{operationId}",
    scopes: ["mic.operations:read"],
    success: 200,
    answer: envelope(Operation),
    tool: "get_operation",
    adds: ["waitSeconds", "view"],
  },
  getMicPublicUsage: {
    id: "getMicPublicUsage",
    method: "GET",
    path: "/sandbox/v1/mic/usage",
    scopes: ["mic.usage:read"],
    success: 200,
    answer: envelope(UsageSummary),
    tool: "get_usage",
    adds: ["view"],
  },
  requestMicSharedFileProcessing: {
    id: "requestMicSharedFileProcessing",
    method: "POST",
    path: "/sandbox/v1/mic/processing-requests",
    scopes: ["files:read", "mic.jobs:run"],
    success: 201,
    answer: micEnvelope(ProcessingRequest),
    tool: "request_file_processing",
    adds: ["idempotencyKey"],
  },
  getMicSharedFileProcessingRequest: {
    id: "getMicSharedFileProcessingRequest",
    method: "GET",
    path: "/sandbox/v1/mic/processing-requests/{requestId}",
    scopes: ["mic.jobs:read"],
    success: 200,
    answer: micEnvelope(ProcessingRequest),
    tool: "get_file_processing_request",
    adds: ["waitSeconds", "view"],
  },
} as const satisfies Record<string, OperationRow>;

export type OperationId = keyof typeof operations;
/** The operations that act. */
export type PostId = {
  [Id in OperationId]: (typeof operations)[Id]["method"] extends "POST" ? Id : never;
}[OperationId];
export type ListedOperation = OperationRow & { readonly id: OperationId };

const isPost = (id: OperationId): id is PostId => operations[id].method === "POST";

export const rows: readonly ListedOperation[] = Object.values(operations);
export const playgroundOperations = rows.filter(({ path }) => path.startsWith("/api/"));
export const jobOperations = rows.filter(({ path }) => path.startsWith("/sandbox/"));
export const postIds: readonly PostId[] = rows.flatMap(({ id }) => (isPost(id) ? [id] : []));

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
