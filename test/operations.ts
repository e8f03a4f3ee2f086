// Describes every operation by hand: the tables of docs/contract.md, 4.1, 4.2 and 5, and the tools of docs/interface.md. The copy
// is independent, so it reveals errors in src/contract/endpoints and tools/. Each field has its rules and values to try.
// contract/fields.test.ts tries them on the schemas, emulator/fields.test.ts over HTTP, tools/arguments.test.ts through the
// tools.
import type * as z from "zod/v4";
import { envelope, jobPage, micEnvelope, recipePage } from "../src/contract/envelope.ts";
import { Input } from "../src/contract/inputs.ts";
import { Job } from "../src/contract/jobs.ts";
import { Operation } from "../src/contract/operation.ts";
import { DistrictsResponse, OpenApiDocument, StatesResponse } from "../src/contract/playground.ts";
import { ProcessingRequest } from "../src/contract/processing-requests.ts";
import { RecipeOffer } from "../src/contract/recipes.ts";
import { CapabilitySet, UsageSummary } from "../src/contract/usage.ts";
import * as field from "./contract/field-rules.ts";
import type { ExampleData } from "./emulator/example.ts";
import { type Fields, independentField, type KeyGrammar, optionalField, requiredField } from "./fields.ts";
import { words } from "./support/words.ts";

const keyArgument = {
  text: { idempotencyKey: field.textKeyArgument },
  input: { idempotencyKey: field.inputKey },
  processing: { idempotencyKey: field.processingKey },
} as const;
const waitSeconds = { accepts: [0], refuses: [-1, 0.5, "0", true, null] };
const view = field.oneOf("summary", "full");
const stateCodeOrName = {
  accepts: ["TG", "tg", "Telangana"],
  refuses: ["", "T", "T1", "T ", "TG\n", "x".repeat(81), 36, true, null, ["TG"], {}],
};
const anyId = field.text(1, 128);
const recipeVersionId = field.prefixedHex32("micrecipev_");
const limit = optionalField("4.2/list-limit", field.integer(1, 100));
const reason = independentField(requiredField("4.2/reason", field.writtenText(1, 1000)));

/** A request of an operation that succeeds. */
export interface Example {
  readonly path?: Readonly<Record<string, string>>;
  readonly ifMatch?: string;
  readonly body: Readonly<Record<string, unknown>>;
}

export interface OperationRow {
  readonly id: string;
  readonly method: "GET" | "POST";
  /** Path from the root of `{base_url}`. */
  readonly path: string;
  /** In the order in which the token request lists them. The operation's own scope is the last. */
  readonly scopes: readonly string[];
  readonly success: number;
  /** Strict schema of the success body; undefined if the body is raw bytes. */
  readonly answer?: z.ZodType;
  readonly tool: string;
  /** Fields of a request. Nested body fields have dotted names. */
  readonly pathFields?: Fields;
  readonly queryFields?: Fields;
  readonly bodyFields?: Fields;
  /** Grammar of the Idempotency-Key; only POST operations have one. */
  readonly key?: KeyGrammar;
  /** The operation requires If-Match. */
  readonly ifMatch?: true;
  /** Arguments of the tool in addition to the operation's path, query and body fields. */
  readonly extraArguments?: Readonly<Record<string, field.FieldRule>>;
  /** Values that the tool accepts for a field of the operation, if they differ from the operation's. */
  readonly widenedArguments?: Readonly<Record<string, field.FieldRule>>;
  /** Builds a request that succeeds. emulator/example.ts derives the request of a GET from its fields. */
  readonly example?: (world: ExampleData) => Example | Promise<Example>;
  /** Changes to the example that make it a different command. */
  readonly variation?: Readonly<Record<string, unknown>>;
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
    queryFields: { state: independentField(requiredField("4.1/state-required", field.stateCode)) },
    widenedArguments: { state: stateCodeOrName },
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
    queryFields: { workspaceId: requiredField("4.2/query-workspace-id", anyId) },
    extraArguments: { view },
  },
  createMicPublicInput: {
    id: "createMicPublicInput",
    method: "POST",
    path: "/sandbox/v1/mic/inputs",
    scopes: ["files:read", "mic.inputs:write"],
    success: 201,
    answer: envelope(Input),
    tool: "register_input",
    bodyFields: {
      workspaceId: requiredField("4.2/input-ids", anyId),
      inputKind: requiredField("4.2/input-kind", field.oneOf("M4_FILE", "ACQUISITION", "DATASET_VERSION")),
      referenceId: requiredField(["4.2/input-ids", "4.2/input-reference-file"], field.fileReference),
      alias: independentField(optionalField("4.2/input-alias-and-client-reference", field.text(1, 160))),
      clientReference: independentField(optionalField("4.2/input-alias-and-client-reference", field.text(1, 160))),
    },
    key: "input",
    extraArguments: keyArgument.input,
    example: ({ registration }) => ({ body: registration }),
    variation: { referenceId: "devsignfile_1" },
  },
  getMicPublicInput: {
    id: "getMicPublicInput",
    method: "GET",
    path: "/sandbox/v1/mic/inputs/{inputId}",
    scopes: ["files:read", "mic.inputs:read"],
    success: 200,
    answer: envelope(Input),
    tool: "get_input",
    pathFields: { inputId: requiredField("4.2/get-input", anyId) },
    extraArguments: { waitSeconds, view },
  },
  getMicPublicAssetContent: {
    id: "getMicPublicAssetContent",
    method: "GET",
    path: "/sandbox/v1/mic/assets/{assetId}/content",
    scopes: ["files:read", "mic.assets:read"],
    success: 200,
    tool: "download_asset",
    pathFields: { assetId: requiredField("4.2/get-asset-content", anyId) },
    extraArguments: {
      fileName: { accepts: ["a-copy.csv"], refuses: ["", ".", "..", "a/b", "a\\b", "a\n", ...field.anyText.refuses] },
      preview: field.boolean,
    },
  },
  listMicExecutableRecipes: {
    id: "listMicExecutableRecipes",
    method: "GET",
    path: "/sandbox/v1/mic/recipes",
    scopes: ["mic.recipes:read"],
    success: 200,
    answer: recipePage(RecipeOffer),
    tool: "list_recipes",
    queryFields: {
      workspaceId: requiredField("4.2/query-workspace-style-id", field.workspaceStyleId),
      limit: independentField(limit),
      cursor: optionalField("4.2/recipes-cursor", field.recipeCursor),
      sort: independentField(optionalField("4.2/recipes-sort", field.oneOf("versionId"))),
    },
    extraArguments: { view },
  },
  getMicExecutableRecipe: {
    id: "getMicExecutableRecipe",
    method: "GET",
    path: "/sandbox/v1/mic/recipe-versions/{versionId}",
    scopes: ["mic.recipes:read"],
    success: 200,
    answer: micEnvelope(RecipeOffer),
    tool: "get_recipe",
    pathFields: { versionId: requiredField("4.2/path-ids", recipeVersionId) },
    extraArguments: { view },
  },
  createMicJob: {
    id: "createMicJob",
    method: "POST",
    path: "/sandbox/v1/mic/jobs",
    scopes: ["mic.jobs:run"],
    success: 202,
    answer: envelope(Job),
    tool: "submit_job",
    bodyFields: {
      workspaceId: requiredField("4.2/job-ids", field.workspaceStyleId),
      recipeVersionId: requiredField("4.2/job-ids", recipeVersionId),
      inputBindings: requiredField(["4.2/job-input-bindings", "4.2/job-input-bindings-unique"], field.inputBindings),
      "inputBindings.0.port": requiredField("4.2/job-input-binding-port", field.port),
      "inputBindings.0.inputId": requiredField("4.2/job-input-binding-input-id", field.workspaceStyleId),
      parameterValues: requiredField("4.2/job-parameter-values", field.freeFormObject),
      clientReference: independentField(
        optionalField("4.2/job-client-reference", field.nullable(field.writtenText(1, 160))),
      ),
    },
    key: "text",
    extraArguments: keyArgument.text,
    example: ({ jobOrder }) => ({ body: jobOrder }),
    variation: { parameterValues: { another: true } },
  },
  listMicJobs: {
    id: "listMicJobs",
    method: "GET",
    path: "/sandbox/v1/mic/jobs",
    scopes: ["mic.jobs:read"],
    success: 200,
    answer: jobPage(Job),
    tool: "list_jobs",
    queryFields: {
      workspaceId: requiredField("4.2/query-workspace-id", anyId),
      limit: independentField(limit),
      cursor: optionalField("4.2/jobs-cursor", field.text(1, 4096)),
    },
    extraArguments: {
      view,
      states: {
        accepts: [["FAILED"], ["QUEUED", "PAUSED"]],
        refuses: [[], "FAILED", Array(9).fill("FAILED"), null, {}],
      },
      createdSince: field.dateTime,
      unretried: field.boolean,
    },
  },
  getMicJob: {
    id: "getMicJob",
    method: "GET",
    path: "/sandbox/v1/mic/jobs/{jobId}",
    scopes: ["mic.jobs:read"],
    success: 200,
    answer: envelope(Job),
    tool: "get_job",
    pathFields: { jobId: requiredField("4.2/get-job", anyId) },
    extraArguments: { waitSeconds, view },
  },
  cancelMicJob: {
    id: "cancelMicJob",
    method: "POST",
    path: "/sandbox/v1/mic/jobs/{jobId}/cancellations",
    scopes: ["mic.jobs:cancel"],
    success: 202,
    answer: envelope(Operation),
    tool: "cancel_job",
    pathFields: { jobId: requiredField("4.2/cancel-job", anyId) },
    bodyFields: { reason },
    key: "text",
    ifMatch: true,
    extraArguments: { ...keyArgument.text, resourceVersion: field.integer(1, field.MAX_SAFE), waitSeconds },
    example: async ({ submitNewJob }) => {
      const { id: jobId, resourceVersion } = await submitNewJob();
      return { path: { jobId }, ifMatch: `"${resourceVersion}"`, body: { reason: "Not needed" } };
    },
    variation: { reason: "Another reason" },
  },
  retryMicJob: {
    id: "retryMicJob",
    method: "POST",
    path: "/sandbox/v1/mic/jobs/{jobId}/retries",
    scopes: ["mic.jobs:run"],
    success: 202,
    answer: envelope(Job),
    tool: "retry_job",
    pathFields: { jobId: requiredField("4.2/retry-job", anyId) },
    bodyFields: {
      retryMode: independentField(requiredField("4.2/retry-mode", field.oneOf("SAFE_RESUME", "RESTART"))),
      reason,
    },
    key: "text",
    extraArguments: keyArgument.text,
    example: async ({ createFailedJob }) => ({
      path: { jobId: (await createFailedJob()).id },
      body: { retryMode: "SAFE_RESUME", reason: "The input was corrected" },
    }),
    variation: { reason: "Another reason" },
  },
  getMicPublicOperation: {
    id: "getMicPublicOperation",
    method: "GET",
    path: "/sandbox/v1/mic/operations/{operationId}",
    scopes: ["mic.operations:read"],
    success: 200,
    answer: envelope(Operation),
    tool: "get_operation",
    pathFields: { operationId: requiredField("4.2/get-operation", anyId) },
    extraArguments: { waitSeconds, view },
  },
  getMicPublicUsage: {
    id: "getMicPublicUsage",
    method: "GET",
    path: "/sandbox/v1/mic/usage",
    scopes: ["mic.usage:read"],
    success: 200,
    answer: envelope(UsageSummary),
    tool: "get_usage",
    queryFields: {
      workspaceId: requiredField("4.2/query-workspace-style-id", field.workspaceStyleId),
      window: requiredField("4.2/usage-window", field.oneOf("DAY", "MONTH", "ENTITLEMENT")),
    },
    extraArguments: { view },
  },
  requestMicSharedFileProcessing: {
    id: "requestMicSharedFileProcessing",
    method: "POST",
    path: "/sandbox/v1/mic/processing-requests",
    scopes: ["files:read", "mic.jobs:run"],
    success: 201,
    answer: micEnvelope(ProcessingRequest),
    tool: "request_file_processing",
    bodyFields: {
      workspaceId: requiredField("4.2/processing-request-ids", field.workspaceStyleId),
      inputId: requiredField("4.2/processing-request-ids", field.prefixedHex32("micinput_")),
      recipeVersionId: requiredField("4.2/processing-request-ids", recipeVersionId),
      recipeVersionHash: requiredField("4.2/processing-request-recipe-version-hash", field.hex64),
      purpose: independentField(requiredField("4.2/processing-request-purpose", field.unicodeText(160))),
      expiresAt: requiredField("4.2/processing-request-expires-at", field.utcInstant),
    },
    key: "processing",
    extraArguments: keyArgument.processing,
    example: ({ permissionRequest }) => ({ body: permissionRequest }),
    variation: { purpose: "Another purpose" },
  },
  getMicSharedFileProcessingRequest: {
    id: "getMicSharedFileProcessingRequest",
    method: "GET",
    path: "/sandbox/v1/mic/processing-requests/{requestId}",
    scopes: ["mic.jobs:read"],
    success: 200,
    answer: micEnvelope(ProcessingRequest),
    tool: "get_file_processing_request",
    pathFields: { requestId: requiredField("4.2/path-ids", field.prefixedHex32("micsharedrequest_")) },
    extraArguments: { waitSeconds, view },
  },
} as const satisfies Record<string, OperationRow>;

export type OperationId = keyof typeof operations;
/** The operations that write (POST). */
export type PostId = {
  [Id in OperationId]: (typeof operations)[Id]["method"] extends "POST" ? Id : never;
}[OperationId];
export type ListedOperation = OperationRow & { readonly id: OperationId };

export const isPost = (id: OperationId): id is PostId => operations[id].method === "POST";

export const rows: readonly ListedOperation[] = Object.values(operations);
export const playgroundOperations = rows.filter(({ path }) => path.startsWith("/api/"));
export const jobOperations = rows.filter(({ path }) => path.startsWith("/sandbox/"));
export const postIds: readonly PostId[] = rows.flatMap(({ id }) => (isPost(id) ? [id] : []));

export const allScopes: readonly string[] = words(`
  files:read mic.assets:read mic.capabilities:read mic.inputs:read mic.inputs:write mic.jobs:cancel mic.jobs:read
  mic.jobs:run mic.operations:read mic.recipes:read mic.usage:read`);
