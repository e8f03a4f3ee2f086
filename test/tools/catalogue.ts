// The tools by operation, copied out by hand from docs/interface.md ("Tools").
import type { OperationId } from "../emulator/operations.ts";

export const TOOL_OF = {
  listPlaygroundStates: "list_states",
  listPlaygroundDistricts: "list_districts",
  getPlaygroundOpenApi: "get_geography_openapi",
  getMicPublicCapabilities: "get_capabilities",
  createMicPublicInput: "register_input",
  getMicPublicInput: "get_input",
  getMicPublicAssetContent: "download_asset",
  listMicExecutableRecipes: "list_recipes",
  getMicExecutableRecipe: "get_recipe",
  createMicJob: "submit_job",
  listMicJobs: "list_jobs",
  getMicJob: "get_job",
  cancelMicJob: "cancel_job",
  retryMicJob: "retry_job",
  getMicPublicOperation: "get_operation",
  getMicPublicUsage: "get_usage",
  requestMicSharedFileProcessing: "request_file_processing",
  getMicSharedFileProcessingRequest: "get_file_processing_request",
} as const satisfies Record<OperationId, string>;

export type ToolName = (typeof TOOL_OF)[OperationId];

/** Arguments beyond the operation's own path, query and body fields. */
export const EXTRA_ARGUMENTS: Readonly<Partial<Record<ToolName, readonly string[]>>> = {
  register_input: ["idempotencyKey"],
  get_input: ["waitSeconds"],
  download_asset: ["fileName"],
  list_recipes: ["view"],
  submit_job: ["idempotencyKey"],
  list_jobs: ["view"],
  get_job: ["waitSeconds"],
  cancel_job: ["idempotencyKey", "resourceVersion"],
  retry_job: ["idempotencyKey"],
  get_operation: ["waitSeconds"],
  request_file_processing: ["idempotencyKey"],
  get_file_processing_request: ["waitSeconds"],
};

/** Tools that are no single operation, in the catalogue's order, with their arguments. */
export const OWN_TOOLS: Readonly<
  Record<string, { readonly required: readonly string[]; readonly optional: readonly string[] }>
> = {
  find_district: { required: ["name"], optional: ["state", "limit", "waitSeconds"] },
  rank_divisions: {
    required: ["level", "by"],
    optional: ["order", "limit", "states", "min", "max", "waitSeconds"],
  },
  list_actions: { required: [], optional: ["state", "limit"] },
};

export const POST_TOOLS = {
  createMicPublicInput: "register_input",
  createMicJob: "submit_job",
  cancelMicJob: "cancel_job",
  retryMicJob: "retry_job",
  requestMicSharedFileProcessing: "request_file_processing",
} as const satisfies Partial<Record<OperationId, ToolName>>;
