// The names of the tools that docs/interface.md lists ("Tools"): one for each operation, then those over several of them.
import { rows } from "../operations.ts";

/** Tools that are no single operation, in the catalogue's order, with their arguments. */
export const OWN_TOOLS: Readonly<
  Record<string, { readonly required: readonly string[]; readonly optional: readonly string[] }>
> = {
  find_district: { required: [], optional: ["name", "names", "state", "limit", "waitSeconds"] },
  rank_divisions: {
    required: ["level", "by"],
    optional: ["order", "limit", "offset", "perState", "states", "startsWith", "min", "max", "saveAs", "waitSeconds"],
  },
  list_actions: { required: [], optional: ["state", "limit"] },
  resolve_actions: { required: [], optional: ["idempotencyKey"] },
  run_job: {
    required: ["workspaceId", "recipeVersionId", "inputs", "parameterValues"],
    optional: ["clientReference", "waitSeconds", "idempotencyKey"],
  },
  retry_jobs: { required: ["jobIds", "retryMode", "reason"], optional: ["idempotencyKey", "waitSeconds"] },
  wait_for_jobs: { required: ["jobIds"], optional: ["until", "waitSeconds"] },
};

/** Those that show a view, with their arguments: listed for clients that show views. */
export const VIEW_TOOLS: Readonly<
  Record<string, { readonly required: readonly string[]; readonly optional: readonly string[] }>
> = {
  show_job: { required: ["jobId"], optional: [] },
  show_divisions: { required: ["level"], optional: ["states", "waitSeconds"] },
  show_usage: { required: ["workspaceId", "window"], optional: [] },
  show_actions: { required: [], optional: ["state"] },
};

/** All others, as every client has them listed. */
export const TOOL_NAMES: readonly string[] = [...rows.map(({ tool }) => tool), ...Object.keys(OWN_TOOLS)];
/** Those that act. */
export const POST_TOOLS: readonly string[] = [
  ...rows.flatMap(({ method, tool }) => (method === "POST" ? [tool] : [])),
  "run_job",
  "retry_jobs",
  "resolve_actions",
];
