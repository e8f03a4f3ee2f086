// The tools in the order of the contract: everything that repeats them is made from this list.
// Made by npm run fix from src/toolkit/tool-names.ts.
import type { DefinedTool } from "../src/toolkit/define-tool.ts";
import type { ToolName } from "../src/toolkit/tool-names.ts";
import { cancelJob } from "./cancel-job.ts";
import { downloadAsset } from "./download-asset.ts";
import { findDistrict } from "./find-district.ts";
import { getCapabilities } from "./get-capabilities.ts";
import { getFileProcessingRequest } from "./get-file-processing-request.ts";
import { getGeographyOpenapi } from "./get-geography-openapi.ts";
import { getInput } from "./get-input.ts";
import { getJob } from "./get-job.ts";
import { getOperation } from "./get-operation.ts";
import { getRecipe } from "./get-recipe.ts";
import { getUsage } from "./get-usage.ts";
import { listActions } from "./list-actions.ts";
import { listDistricts } from "./list-districts.ts";
import { listJobs } from "./list-jobs.ts";
import { listRecipes } from "./list-recipes.ts";
import { listStates } from "./list-states.ts";
import { rankDivisions } from "./rank-divisions.ts";
import { registerInput } from "./register-input.ts";
import { requestFileProcessing } from "./request-file-processing.ts";
import { resolveActions } from "./resolve-actions.ts";
import { retryJob } from "./retry-job.ts";
import { retryJobs } from "./retry-jobs.ts";
import { runJob } from "./run-job.ts";
import { showActions } from "./show-actions.ts";
import { showDivisions } from "./show-divisions.ts";
import { showJob } from "./show-job.ts";
import { showUsage } from "./show-usage.ts";
import { submitJob } from "./submit-job.ts";
import { waitForJobs } from "./wait-for-jobs.ts";

const byName: { readonly [N in ToolName]: DefinedTool & { readonly name: N } } = {
  list_states: listStates,
  list_districts: listDistricts,
  get_geography_openapi: getGeographyOpenapi,
  get_capabilities: getCapabilities,
  register_input: registerInput,
  get_input: getInput,
  download_asset: downloadAsset,
  list_recipes: listRecipes,
  get_recipe: getRecipe,
  submit_job: submitJob,
  list_jobs: listJobs,
  get_job: getJob,
  cancel_job: cancelJob,
  retry_job: retryJob,
  get_operation: getOperation,
  get_usage: getUsage,
  request_file_processing: requestFileProcessing,
  get_file_processing_request: getFileProcessingRequest,
  find_district: findDistrict,
  rank_divisions: rankDivisions,
  list_actions: listActions,
  resolve_actions: resolveActions,
  run_job: runJob,
  retry_jobs: retryJobs,
  wait_for_jobs: waitForJobs,
  show_job: showJob,
  show_divisions: showDivisions,
  show_usage: showUsage,
  show_actions: showActions,
};

export const tools: readonly DefinedTool[] = Object.values(byName);
