// Builds one example request for each operation that succeeds, from resources of the running emulator.
import * as z from "zod/v4";
import type { Job } from "../../src/contract/jobs.ts";
import type { RecipeOffer } from "../../src/contract/recipes.ts";
import { type Example, isPost, type OperationId, type OperationRow, operations } from "../operations.ts";
import type { Parts, Service } from "./service.ts";
import {
  createJobBody,
  createProcessingBody,
  createRetryableJob,
  FILE,
  fileId,
  findOneInputOffer,
  registerInput,
  submitJob,
} from "./work.ts";

/** Resources that the examples of one emulator use; created once. */
export interface ExampleData {
  readonly service: Service;
  readonly workspaceId: string;
  /** The id of a file. */
  readonly assetId: string;
  readonly inputId: string;
  readonly jobId: string;
  readonly operationId: string;
  readonly requestId: string;
  readonly offer: RecipeOffer;
  /** Input of the permission requests. Until a permission is granted, this input cannot be used in a job with the same recipe. */
  readonly sharedInputId: string;
  /** A job that failed retryably and that no example retries. */
  readonly failedJobId: string;
  readonly registration: Body;
  readonly jobOrder: Body;
  readonly permissionRequest: Body;
  submitNewJob(): Promise<Job>;
  createFailedJob(): Promise<Job>;
}
type Body = Readonly<Record<string, unknown>>;

export async function createExampleData(service: Service): Promise<ExampleData> {
  const { workspaceId } = service.emulator;
  const [offer, input, sharedInput] = await Promise.all([
    findOneInputOffer(service),
    registerInput(service, FILE.succeeds),
    registerInput(service, FILE.succeeds),
  ]);
  const createFailedJob = () => createRetryableJob(service);
  const submitNewJob = () => submitJob(service, FILE.succeeds);
  const failed = await createFailedJob();
  const job = await submitNewJob();
  const cancelled = await submitNewJob();
  const operation = await service.ok(operations.cancelMicJob, {
    path: { jobId: cancelled.id },
    ifMatch: `"${cancelled.resourceVersion}"`,
    body: { reason: "An example" },
  });
  const permissionRequest = createProcessingBody(service, offer, sharedInput.id);
  const request = await service.ok(operations.requestMicSharedFileProcessing, { body: permissionRequest });
  const assetId = fileId(service, FILE.succeeds);
  return {
    ...{ service, workspaceId, assetId, offer },
    ...{ inputId: input.id, jobId: job.id, operationId: operation.data.id, requestId: request.data.id },
    sharedInputId: sharedInput.id,
    failedJobId: failed.id,
    registration: { workspaceId, inputKind: "M4_FILE", referenceId: assetId },
    jobOrder: { ...createJobBody(service, offer, input.id) },
    permissionRequest,
    submitNewJob,
    createFailedJob,
  };
}

const requests = new WeakMap<ExampleData, Map<OperationId, Promise<Parts>>>();

/** Parts of a request that the service accepts: of a read, always the same. Throws if the example of the operation's row lacks a required parameter. */
export function createRequest(exampleData: ExampleData, id: OperationId): Promise<Parts> {
  if (isPost(id)) return createParts(exampleData, id);
  const known = requests.get(exampleData) ?? new Map<OperationId, Promise<Parts>>();
  requests.set(exampleData, known);
  const parts = known.get(id) ?? createParts(exampleData, id);
  known.set(id, parts);
  return parts;
}

async function createParts(exampleData: ExampleData, id: OperationId): Promise<Parts> {
  const { example: createExample, pathParameters, query }: OperationRow = operations[id];
  const example: Example = (await createExample?.(exampleData)) ?? {};
  for (const [{ shape }, values = {}] of [[pathParameters, example.path] as const, [query, example.query] as const])
    for (const [name, schema] of Object.entries(shape))
      if (!(schema instanceof z.ZodOptional) && values[name] === undefined)
        throw new Error(`test/operations.ts: the example in the row of ${id} needs ${name}`);
  return example;
}

export function exampleDataForFile(service: () => Service): () => Promise<ExampleData> {
  let exampleData: Promise<ExampleData> | undefined;
  return () => {
    exampleData ??= createExampleData(service());
    return exampleData;
  };
}
