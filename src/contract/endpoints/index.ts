// All 18 endpoints of docs/contract.md, 4, in the contract's order.
import type { Endpoint } from "./endpoint.ts";
import * as jobs from "./job-processing.ts";
import * as playground from "./playground.ts";

export const endpoints: readonly Endpoint[] = [
  playground.listPlaygroundStates,
  playground.listPlaygroundDistricts,
  playground.getPlaygroundOpenApi,
  jobs.getMicPublicCapabilities,
  jobs.createMicPublicInput,
  jobs.getMicPublicInput,
  jobs.getMicPublicAssetContent,
  jobs.listMicExecutableRecipes,
  jobs.getMicExecutableRecipe,
  jobs.createMicJob,
  jobs.listMicJobs,
  jobs.getMicJob,
  jobs.cancelMicJob,
  jobs.retryMicJob,
  jobs.getMicPublicOperation,
  jobs.getMicPublicUsage,
  jobs.requestMicSharedFileProcessing,
  jobs.getMicSharedFileProcessingRequest,
];
