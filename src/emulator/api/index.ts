// The 15 operations of the job-processing API, in the contract's order.
import { assetContent, createInput, getInput } from "./inputs.ts";
import { cancelJob, createJob, getJob, getOperation, listJobs, retryJob } from "./jobs.ts";
import type { OperationHandler } from "./operation.ts";
import { createProcessingRequest, getProcessingRequest } from "./processing-requests.ts";
import { getRecipe, listRecipes } from "./recipes.ts";
import { capabilities, usage } from "./workspace.ts";

export const operations: readonly OperationHandler[] = [
  capabilities,
  createInput,
  getInput,
  assetContent,
  listRecipes,
  getRecipe,
  createJob,
  listJobs,
  getJob,
  cancelJob,
  retryJob,
  getOperation,
  usage,
  createProcessingRequest,
  getProcessingRequest,
];
