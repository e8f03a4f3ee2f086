// One example request for each operation that succeeds, made of resources that the running emulator holds.
import type { RecipeOffer } from "../../src/contract/recipes.ts";
import { type OperationId, operations } from "../operations.ts";
import type { Parts, Service } from "./service.ts";
import {
  FILE,
  fileId,
  jobBody,
  oneInputOffer,
  processingBody,
  registerInput,
  retryableJob,
  submitJob,
} from "./work.ts";

/** Resources of one emulator that the examples name; made once. */
export interface World {
  readonly workspaceId: string;
  readonly offer: RecipeOffer;
  readonly inputId: string;
  /** For requests of permission: until one is granted, the same input runs no job with the same recipe. */
  readonly sharedInputId: string;
  readonly jobId: string;
  /** Failed retryably; no example retries it. */
  readonly failedJobId: string;
  readonly operationId: string;
  readonly requestId: string;
}

export async function makeWorld(service: Service): Promise<World> {
  const [offer, input, sharedInput] = await Promise.all([
    oneInputOffer(service),
    registerInput(service, FILE.succeeds),
    registerInput(service, FILE.succeeds),
  ]);
  const failed = await retryableJob(service);
  const job = await submitJob(service, FILE.succeeds);
  const cancelled = await submitJob(service, FILE.succeeds);
  const operation = await service.ok(operations.cancelMicJob, {
    path: { jobId: cancelled.id },
    ifMatch: `"${cancelled.resourceVersion}"`,
    body: { reason: "An example" },
  });
  const request = await service.ok(operations.requestMicSharedFileProcessing, {
    body: processingBody(service, offer, sharedInput.id),
  });
  return {
    workspaceId: service.emulator.workspaceId,
    offer,
    inputId: input.id,
    sharedInputId: sharedInput.id,
    jobId: job.id,
    failedJobId: failed.id,
    operationId: operation.data.id,
    requestId: request.data.id,
  };
}

/** Parts of a request that the service accepts. Cancelling needs a job of its own each time, and retrying a failed one. */
export async function example(service: Service, world: World, id: OperationId): Promise<Parts> {
  const { workspaceId, offer, inputId, sharedInputId } = world;
  switch (id) {
    case "listPlaygroundStates":
    case "getPlaygroundOpenApi":
      return {};
    case "listPlaygroundDistricts":
      return { query: { state: "TG" } };
    case "getMicPublicCapabilities":
    case "listMicExecutableRecipes":
    case "listMicJobs":
      return { query: { workspaceId } };
    case "getMicPublicUsage":
      return { query: { workspaceId, window: "DAY" } };
    case "createMicPublicInput":
      return { body: { workspaceId, inputKind: "M4_FILE", referenceId: fileId(service, FILE.succeeds) } };
    case "getMicPublicInput":
      return { path: { inputId } };
    case "getMicPublicAssetContent":
      return { path: { assetId: fileId(service, FILE.succeeds) } };
    case "getMicExecutableRecipe":
      return { path: { versionId: offer.recipe.versionId } };
    case "createMicJob":
      return { body: jobBody(service, offer, inputId) };
    case "getMicJob":
      return { path: { jobId: world.jobId } };
    case "cancelMicJob": {
      const job = await submitJob(service, FILE.succeeds);
      return { path: { jobId: job.id }, ifMatch: `"${job.resourceVersion}"`, body: { reason: "Not needed" } };
    }
    case "retryMicJob":
      return {
        path: { jobId: (await retryableJob(service)).id },
        body: { retryMode: "SAFE_RESUME", reason: "The fault has been mended" },
      };
    case "getMicPublicOperation":
      return { path: { operationId: world.operationId } };
    case "requestMicSharedFileProcessing":
      return { body: processingBody(service, offer, sharedInputId) };
    case "getMicSharedFileProcessingRequest":
      return { path: { requestId: world.requestId } };
  }
}

/** The world of a file's emulator, made when first asked for. */
export function worldFor(service: () => Service): () => Promise<World> {
  let world: Promise<World> | undefined;
  return () => {
    world ??= makeWorld(service());
    return world;
  };
}
