// Describes every operation by hand: the tables of docs/contract.md, 4.1, 4.2 and 5, independent of src/contract/endpoints and tools/.
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
  readonly ifMatch?: true;
  /** Arguments of the tool in addition to the operation's path, query and body fields. */
  readonly extraArguments?: Readonly<Record<string, field.FieldRule>>;
  /** Values that the tool accepts for a field of the operation, if they differ from the operation's. */
  readonly widenedArguments?: Readonly<Record<string, field.FieldRule>>;
  /** Builds a request that succeeds. emulator/example.ts derives the request of a GET from its fields. */
  readonly example?: (world: ExampleData) => Example | Promise<Example>;
}

const get = (tool: string, path: string, ...scopes: readonly string[]) =>
  ({ method: "GET", tool, path, scopes, success: 200 }) as const;
const post = (success: number, tool: string, path: string, ...scopes: readonly string[]) =>
  ({ method: "POST", tool, path, scopes, success }) as const;

export const operations = {
  listPlaygroundStates: {
    id: "listPlaygroundStates",
    ...get("list_states", "/api/svc/core/developers/playground/v1/geo/states"),
    answer: StatesResponse,
  },
  listPlaygroundDistricts: {
    id: "listPlaygroundDistricts",
    ...get("list_districts", "/api/svc/core/developers/playground/v1/geo/districts"),
    answer: DistrictsResponse,
    queryFields: { state: independentField(requiredField("4.1/state-required", field.stateCode)) },
    widenedArguments: { state: stateCodeOrName },
  },
  getPlaygroundOpenApi: {
    id: "getPlaygroundOpenApi",
    ...get("get_geography_openapi", "/api/svc/core/developers/playground/v1/openapi.json"),
    answer: OpenApiDocument,
  },
  getMicPublicCapabilities: {
    id: "getMicPublicCapabilities",
    ...get("get_capabilities", "/sandbox/v1/mic/capabilities", "mic.capabilities:read"),
    answer: envelope(CapabilitySet),
    queryFields: { workspaceId: requiredField("4.2/query-workspace-id", anyId) },
    extraArguments: { view },
  },
  createMicPublicInput: {
    id: "createMicPublicInput",
    ...post(201, "register_input", "/sandbox/v1/mic/inputs", "files:read", "mic.inputs:write"),
    answer: envelope(Input),
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
  },
  getMicPublicInput: {
    id: "getMicPublicInput",
    ...get("get_input", "/sandbox/v1/mic/inputs/{inputId}", "files:read", "mic.inputs:read"),
    answer: envelope(Input),
    pathFields: { inputId: requiredField("4.2/get-input", anyId) },
    extraArguments: { waitSeconds, view },
  },
  getMicPublicAssetContent: {
    id: "getMicPublicAssetContent",
    ...get("download_asset", "/sandbox/v1/mic/assets/{assetId}/content", "files:read", "mic.assets:read"),
    pathFields: { assetId: requiredField("4.2/get-asset-content", anyId) },
    extraArguments: {
      fileName: { accepts: ["a-copy.csv"], refuses: ["", ".", "..", "a/b", "a\\b", "a\n", ...field.anyText.refuses] },
      preview: field.boolean,
    },
  },
  listMicExecutableRecipes: {
    id: "listMicExecutableRecipes",
    ...get("list_recipes", "/sandbox/v1/mic/recipes", "mic.recipes:read"),
    answer: recipePage(RecipeOffer),
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
    ...get("get_recipe", "/sandbox/v1/mic/recipe-versions/{versionId}", "mic.recipes:read"),
    answer: micEnvelope(RecipeOffer),
    pathFields: { versionId: requiredField("4.2/path-ids", recipeVersionId) },
    extraArguments: { view },
  },
  createMicJob: {
    id: "createMicJob",
    ...post(202, "submit_job", "/sandbox/v1/mic/jobs", "mic.jobs:run"),
    answer: envelope(Job),
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
  },
  listMicJobs: {
    id: "listMicJobs",
    ...get("list_jobs", "/sandbox/v1/mic/jobs", "mic.jobs:read"),
    answer: jobPage(Job),
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
    ...get("get_job", "/sandbox/v1/mic/jobs/{jobId}", "mic.jobs:read"),
    answer: envelope(Job),
    pathFields: { jobId: requiredField("4.2/get-job", anyId) },
    extraArguments: { waitSeconds, view },
  },
  cancelMicJob: {
    id: "cancelMicJob",
    ...post(202, "cancel_job", "/sandbox/v1/mic/jobs/{jobId}/cancellations", "mic.jobs:cancel"),
    answer: envelope(Operation),
    pathFields: { jobId: requiredField("4.2/cancel-job", anyId) },
    bodyFields: { reason },
    key: "text",
    ifMatch: true,
    extraArguments: { ...keyArgument.text, resourceVersion: field.integer(1, field.MAX_SAFE), waitSeconds },
    example: async ({ submitNewJob }) => {
      const { id: jobId, resourceVersion } = await submitNewJob();
      return { path: { jobId }, ifMatch: `"${resourceVersion}"`, body: { reason: "Not needed" } };
    },
  },
  retryMicJob: {
    id: "retryMicJob",
    ...post(202, "retry_job", "/sandbox/v1/mic/jobs/{jobId}/retries", "mic.jobs:run"),
    answer: envelope(Job),
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
  },
  getMicPublicOperation: {
    id: "getMicPublicOperation",
    ...get("get_operation", "/sandbox/v1/mic/operations/{operationId}", "mic.operations:read"),
    answer: envelope(Operation),
    pathFields: { operationId: requiredField("4.2/get-operation", anyId) },
    extraArguments: { waitSeconds, view },
  },
  getMicPublicUsage: {
    id: "getMicPublicUsage",
    ...get("get_usage", "/sandbox/v1/mic/usage", "mic.usage:read"),
    answer: envelope(UsageSummary),
    queryFields: {
      workspaceId: requiredField("4.2/query-workspace-style-id", field.workspaceStyleId),
      window: requiredField("4.2/usage-window", field.oneOf("DAY", "MONTH", "ENTITLEMENT")),
    },
    extraArguments: { view },
  },
  requestMicSharedFileProcessing: {
    id: "requestMicSharedFileProcessing",
    ...post(201, "request_file_processing", "/sandbox/v1/mic/processing-requests", "files:read", "mic.jobs:run"),
    answer: micEnvelope(ProcessingRequest),
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
  },
  getMicSharedFileProcessingRequest: {
    id: "getMicSharedFileProcessingRequest",
    ...get("get_file_processing_request", "/sandbox/v1/mic/processing-requests/{requestId}", "mic.jobs:read"),
    answer: micEnvelope(ProcessingRequest),
    pathFields: { requestId: requiredField("4.2/path-ids", field.prefixedHex32("micsharedrequest_")) },
    extraArguments: { waitSeconds, view },
  },
} as const satisfies Record<string, OperationRow>;

export type OperationId = keyof typeof operations;
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
