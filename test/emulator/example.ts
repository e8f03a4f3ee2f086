// One example request for each operation that succeeds, made of resources that the running emulator holds.
import type { Job } from "../../src/contract/jobs.ts";
import type { RecipeOffer } from "../../src/contract/recipes.ts";
import type { Fields } from "../fields.ts";
import { type OperationId, type OperationRow, operations } from "../operations.ts";
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

/** What the examples of one emulator name; made once. */
export interface World {
  readonly offer: RecipeOffer;
  /** For requests of permission: until one is granted, the same input runs no job with the same recipe. */
  readonly sharedInputId: string;
  /** Failed retryably; no example retries it. */
  readonly failedJobId: string;
  /** Values of path and query parameters, by their names. */
  readonly values: Readonly<Record<string, string>>;
  readonly registration: Body;
  readonly jobOrder: Body;
  readonly permissionRequest: Body;
  /** One that can be cancelled. */
  newJob(): Promise<Job>;
  /** One that can be retried. */
  failedJob(): Promise<Job>;
}
type Body = Readonly<Record<string, unknown>>;

export async function makeWorld(service: Service): Promise<World> {
  const { workspaceId } = service.emulator;
  const [offer, input, sharedInput] = await Promise.all([
    oneInputOffer(service),
    registerInput(service, FILE.succeeds),
    registerInput(service, FILE.succeeds),
  ]);
  const failedJob = () => retryableJob(service);
  const newJob = () => submitJob(service, FILE.succeeds);
  const failed = await failedJob();
  const job = await newJob();
  const cancelled = await newJob();
  const operation = await service.ok(operations.cancelMicJob, {
    path: { jobId: cancelled.id },
    ifMatch: `"${cancelled.resourceVersion}"`,
    body: { reason: "An example" },
  });
  const permissionRequest = processingBody(service, offer, sharedInput.id);
  const request = await service.ok(operations.requestMicSharedFileProcessing, { body: permissionRequest });
  const assetId = fileId(service, FILE.succeeds);
  return {
    offer,
    sharedInputId: sharedInput.id,
    failedJobId: failed.id,
    values: {
      workspaceId,
      state: "TG",
      window: "DAY",
      inputId: input.id,
      assetId,
      versionId: offer.recipe.versionId,
      jobId: job.id,
      operationId: operation.data.id,
      requestId: request.data.id,
    },
    registration: { workspaceId, inputKind: "M4_FILE", referenceId: assetId },
    jobOrder: { ...jobBody(service, offer, input.id) },
    permissionRequest,
    newJob,
    failedJob,
  };
}

/** Parts of a request that the service accepts: of a POST by its row, of a GET all that it requires. */
export async function example(world: World, id: OperationId): Promise<Parts> {
  const { example: make, pathFields, queryFields }: OperationRow = operations[id];
  if (make !== undefined) return make(world);
  const required = (fields: Fields = {}) =>
    Object.fromEntries(
      Object.entries(fields).flatMap(([name, { isOptional }]) => (isOptional ? [] : [[name, valueFor(world, name)]])),
    );
  return {
    ...(pathFields && { path: required(pathFields) }),
    ...(queryFields && { query: required(queryFields) }),
  };
}

function valueFor({ values }: World, name: string): string {
  const value = values[name];
  if (value === undefined) throw new Error(`the world of the examples has no ${name}`);
  return value;
}

/** The world of a file's emulator, made when first asked for. */
export function worldFor(service: () => Service): () => Promise<World> {
  let world: Promise<World> | undefined;
  return () => {
    world ??= makeWorld(service());
    return world;
  };
}
