// The names of the tools, in the order of tools/list. tools/index.ts has exactly one tool for each: the compiler sees to it.
export const TOOL_NAMES = [
  "list_states",
  "list_districts",
  "get_geography_openapi",
  "get_capabilities",
  "register_input",
  "get_input",
  "download_asset",
  "list_recipes",
  "get_recipe",
  "submit_job",
  "list_jobs",
  "get_job",
  "cancel_job",
  "retry_job",
  "get_operation",
  "get_usage",
  "request_file_processing",
  "get_file_processing_request",
  "find_district",
  "rank_divisions",
  "list_actions",
  "resolve_actions",
  "run_job",
  "retry_jobs",
  "wait_for_jobs",
  // For clients that show views.
  "show_job",
  "show_divisions",
  "show_usage",
  "show_actions",
] as const;

export type ToolName = (typeof TOOL_NAMES)[number];

const names: ReadonlySet<string> = new Set(TOOL_NAMES);

/** The journal may hold actions of tools that this version does not have. */
export const isToolName = (name: string): name is ToolName => names.has(name);
