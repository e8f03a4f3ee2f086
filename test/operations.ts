// Lists every operation with its tool, and for a POST a request that succeeds. test/contract/fields.test.ts compares the endpoints with
// docs/contract.md.
import type * as z from "zod/v4";
import { API_PREFIX, type Endpoint } from "../src/contract/endpoints/endpoint.ts";
import { SCOPES } from "../src/contract/endpoints/index.ts";
import * as api from "../src/contract/endpoints/job-processing.ts";
import * as playground from "../src/contract/endpoints/playground.ts";
import type { ExampleData } from "./emulator/example.ts";

export interface Example {
  readonly path?: Readonly<Record<string, string>>;
  readonly ifMatch?: string;
  readonly body: Readonly<Record<string, unknown>>;
}
type CreateExample = (world: ExampleData) => Example | Promise<Example>;

export interface OperationRow extends Omit<Endpoint, "success"> {
  /** In the order in which the token request lists them. */
  readonly scopes: readonly string[];
  readonly success: number;
  /** Strict schema of the success body; undefined if the body is raw bytes. */
  readonly answer?: z.ZodType | undefined;
  readonly tool: string;
  /** Builds a request that succeeds. emulator/example.ts derives the request of a GET from its fields. */
  readonly example?: CreateExample | undefined;
}

type Row<E extends Endpoint> = OperationRow &
  Pick<E, "id" | "method"> & {
    readonly answer: E["success"]["body"] extends infer B extends z.ZodType ? B : undefined;
  };

function row<const E extends Endpoint>(endpoint: E, tool: string, example?: CreateExample): Row<E>;
function row({ success, ...endpoint }: Endpoint, tool: string, example?: CreateExample): OperationRow {
  const { status, body } = success;
  const path = API_PREFIX[endpoint.api] + endpoint.path;
  const answer = body === "binary" ? undefined : body;
  return { ...endpoint, path, scopes: endpoint.scopesToRequest, success: status, answer, tool, example };
}

const reason = "The input was corrected";

export const operations = {
  listPlaygroundStates: row(playground.listPlaygroundStates, "list_states"),
  listPlaygroundDistricts: row(playground.listPlaygroundDistricts, "list_districts"),
  getPlaygroundOpenApi: row(playground.getPlaygroundOpenApi, "get_geography_openapi"),
  getMicPublicCapabilities: row(api.getMicPublicCapabilities, "get_capabilities"),
  createMicPublicInput: row(api.createMicPublicInput, "register_input", ({ registration: body }) => ({ body })),
  getMicPublicInput: row(api.getMicPublicInput, "get_input"),
  getMicPublicAssetContent: row(api.getMicPublicAssetContent, "download_asset"),
  listMicExecutableRecipes: row(api.listMicExecutableRecipes, "list_recipes"),
  getMicExecutableRecipe: row(api.getMicExecutableRecipe, "get_recipe"),
  createMicJob: row(api.createMicJob, "submit_job", ({ jobOrder: body }) => ({ body })),
  listMicJobs: row(api.listMicJobs, "list_jobs"),
  getMicJob: row(api.getMicJob, "get_job"),
  cancelMicJob: row(api.cancelMicJob, "cancel_job", async ({ submitNewJob }) => {
    const { id: jobId, resourceVersion } = await submitNewJob();
    return { path: { jobId }, ifMatch: `"${resourceVersion}"`, body: { reason: "Not needed" } };
  }),
  retryMicJob: row(api.retryMicJob, "retry_job", async ({ createFailedJob }) => ({
    path: { jobId: (await createFailedJob()).id },
    body: { retryMode: "SAFE_RESUME", reason },
  })),
  getMicPublicOperation: row(api.getMicPublicOperation, "get_operation"),
  getMicPublicUsage: row(api.getMicPublicUsage, "get_usage"),
  requestMicSharedFileProcessing: row(
    api.requestMicSharedFileProcessing,
    "request_file_processing",
    ({ permissionRequest: body }) => ({ body }),
  ),
  getMicSharedFileProcessingRequest: row(api.getMicSharedFileProcessingRequest, "get_file_processing_request"),
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
