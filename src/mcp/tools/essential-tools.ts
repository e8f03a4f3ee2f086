// The tools of the toolset `essentials`: those that run jobs and answer geography questions in the fewest calls.
import type { ToolName } from "../../toolkit/tool-names.ts";

export const ESSENTIAL_TOOLS: ReadonlySet<ToolName> = new Set<ToolName>([
  "list_districts",
  "download_asset",
  "list_recipes",
  "get_recipe",
  "list_jobs",
  "get_job",
  "cancel_job",
  "get_usage",
  "find_district",
  "rank_divisions",
  "list_actions",
  "resolve_actions",
  "run_job",
  "run_jobs",
  "retry_jobs",
  "wait_for_jobs",
]);
