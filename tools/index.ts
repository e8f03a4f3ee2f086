// Lists the tools in the order of tools/list: operations in the order of the contract, other tools, then those that show a view.
// npm run fix generates all other lists of tools from this one.
import type { Tool } from "../src/toolkit/define-tool.ts";
import { cancelJob } from "./cancel-job.ts";
import { cancelJobs } from "./cancel-jobs.ts";
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
import { runJobs } from "./run-jobs.ts";
import { saveTable } from "./save-table.ts";
import { showActions } from "./show-actions.ts";
import { showDivisions } from "./show-divisions.ts";
import { showJob } from "./show-job.ts";
import { showUsage } from "./show-usage.ts";
import { submitJob } from "./submit-job.ts";
import { waitForJobs } from "./wait-for-jobs.ts";

export const tools: readonly Tool[] = [
  listStates,
  listDistricts,
  getGeographyOpenapi,
  getCapabilities,
  registerInput,
  getInput,
  downloadAsset,
  listRecipes,
  getRecipe,
  submitJob,
  listJobs,
  getJob,
  cancelJob,
  retryJob,
  getOperation,
  getUsage,
  requestFileProcessing,
  getFileProcessingRequest,
  findDistrict,
  rankDivisions,
  listActions,
  resolveActions,
  runJob,
  runJobs,
  retryJobs,
  cancelJobs,
  waitForJobs,
  saveTable,
  showJob,
  showDivisions,
  showUsage,
  showActions,
];
