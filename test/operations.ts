// Lists every operation with its tool, an answer, and a request that succeeds. Tests of all operations and tools use these rows.
// test/contract/fields.test.ts compares the endpoints with docs/contract.md.
import type * as z from "zod/v4";
import { API_PREFIX, type Endpoint } from "../src/contract/endpoints/endpoint.ts";
import { SCOPES } from "../src/contract/endpoints/index.ts";
import * as api from "../src/contract/endpoints/job-processing.ts";
import * as playground from "../src/contract/endpoints/playground.ts";
import * as samples from "./contract/samples.ts";
import type { ExampleData } from "./emulator/example.ts";

export interface Example {
  readonly path?: Readonly<Record<string, string>>;
  readonly query?: Readonly<Record<string, string>>;
  readonly ifMatch?: string;
  readonly body?: Readonly<Record<string, unknown>>;
}
type CreateExample = (world: ExampleData) => Example | Promise<Example>;

/** `sample`: the body of a success, for all operations except downloads. `example`: creates a request that succeeds. */
type Samples<E extends Endpoint> = (E["success"]["body"] extends z.ZodType ? { readonly sample: unknown } : object) &
  (E extends { method: "POST" } | { path: `${string}{${string}` }
    ? { readonly example: CreateExample }
    : { readonly example?: CreateExample });

export interface OperationRow extends Omit<Endpoint, "success"> {
  /** In the order in which the token request lists them. */
  readonly scopes: readonly string[];
  readonly success: number;
  /** Strict schema of the success body; undefined if the body is raw bytes. */
  readonly answer?: z.ZodType | undefined;
  readonly tool: string;
  readonly sample?: unknown;
  readonly example?: CreateExample | undefined;
}

type Row<E extends Endpoint> = OperationRow &
  Pick<E, "id" | "method"> & {
    readonly answer: E["success"]["body"] extends infer B extends z.ZodType ? B : undefined;
  };

function row<const E extends Endpoint>(endpoint: E, tool: string, of: Samples<E>): Row<E>;
function row(
  { success, ...endpoint }: Endpoint,
  tool: string,
  of: Pick<OperationRow, "sample" | "example">,
): OperationRow {
  const { status, body } = success;
  const path = API_PREFIX[endpoint.api] + endpoint.path;
  const answer = body === "binary" ? undefined : body;
  return { ...endpoint, path, scopes: endpoint.scopesToRequest, success: status, answer, tool, ...of };
}

const { enveloped, micEnveloped } = samples;
const reason = "The input was corrected";

const ofWorkspace = ({ workspaceId }: ExampleData) => ({ query: { workspaceId } });

export const operations = {
  listPlaygroundStates: row(playground.listPlaygroundStates, "list_states", { sample: samples.statesResponse }),
  listPlaygroundDistricts: row(playground.listPlaygroundDistricts, "list_districts", {
    sample: samples.districtsResponse,
    example: () => ({ query: { state: "TG" } }),
  }),
  getPlaygroundOpenApi: row(playground.getPlaygroundOpenApi, "get_geography_openapi", {
    sample: samples.openApiDocument,
  }),
  getMicPublicCapabilities: row(api.getMicPublicCapabilities, "get_capabilities", {
    sample: enveloped(samples.capabilitySet),
    example: ofWorkspace,
  }),
  createMicPublicInput: row(api.createMicPublicInput, "register_input", {
    sample: enveloped(samples.input),
    example: ({ registration: body }) => ({ body }),
  }),
  getMicPublicInput: row(api.getMicPublicInput, "get_input", {
    sample: enveloped(samples.input),
    example: ({ inputId }) => ({ path: { inputId } }),
  }),
  getMicPublicAssetContent: row(api.getMicPublicAssetContent, "download_asset", {
    example: ({ assetId }) => ({ path: { assetId } }),
  }),
  listMicExecutableRecipes: row(api.listMicExecutableRecipes, "list_recipes", {
    sample: samples.recipeList,
    example: ofWorkspace,
  }),
  getMicExecutableRecipe: row(api.getMicExecutableRecipe, "get_recipe", {
    sample: micEnveloped(samples.recipeOffer),
    example: ({ offer }) => ({ path: { versionId: offer.recipe.versionId } }),
  }),
  createMicJob: row(api.createMicJob, "submit_job", {
    sample: enveloped(samples.job),
    example: ({ jobOrder: body }) => ({ body }),
  }),
  listMicJobs: row(api.listMicJobs, "list_jobs", { sample: samples.jobList, example: ofWorkspace }),
  getMicJob: row(api.getMicJob, "get_job", {
    sample: enveloped(samples.job),
    example: ({ jobId }) => ({ path: { jobId } }),
  }),
  cancelMicJob: row(api.cancelMicJob, "cancel_job", {
    sample: enveloped(samples.operation),
    async example({ submitNewJob }) {
      const { id: jobId, resourceVersion } = await submitNewJob();
      return { path: { jobId }, ifMatch: `"${resourceVersion}"`, body: { reason: "Not needed" } };
    },
  }),
  retryMicJob: row(api.retryMicJob, "retry_job", {
    sample: enveloped(samples.job),
    example: async ({ createFailedJob }) => ({
      path: { jobId: (await createFailedJob()).id },
      body: { retryMode: "SAFE_RESUME", reason },
    }),
  }),
  getMicPublicOperation: row(api.getMicPublicOperation, "get_operation", {
    sample: enveloped(samples.operation),
    example: ({ operationId }) => ({ path: { operationId } }),
  }),
  getMicPublicUsage: row(api.getMicPublicUsage, "get_usage", {
    sample: enveloped(samples.usageSummary),
    example: ({ workspaceId }) => ({ query: { workspaceId, window: "DAY" } }),
  }),
  requestMicSharedFileProcessing: row(api.requestMicSharedFileProcessing, "request_file_processing", {
    sample: micEnveloped(samples.processingRequest),
    example: ({ permissionRequest: body }) => ({ body }),
  }),
  getMicSharedFileProcessingRequest: row(api.getMicSharedFileProcessingRequest, "get_file_processing_request", {
    sample: micEnveloped(samples.processingRequest),
    example: ({ requestId }) => ({ path: { requestId } }),
  }),
} as const;

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

export const allScopes = SCOPES;
