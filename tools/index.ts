// The catalogue in the contract's order: everything that repeats it is made from this list.
import type { Tool } from "../src/toolkit/define-tool.ts";
import { cancelJob } from "./cancel-job.ts";
import { downloadAsset } from "./download-asset.ts";
import { findDistrict } from "./find-district.ts";
import { getCapabilities } from "./get-capabilities.ts";
import { getFileProcessingRequest } from "./get-file-processing-request.ts";
import { getGeographyOpenApi } from "./get-geography-openapi.ts";
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
import { retryJob } from "./retry-job.ts";
import { submitJob } from "./submit-job.ts";

export const tools: readonly Tool[] = [
  listStates,
  listDistricts,
  getGeographyOpenApi,
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
];
