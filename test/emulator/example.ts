// Builds one example request for each operation that succeeds, from resources of the running emulator.
import * as z from "zod/v4";
import type { Job } from "../../src/contract/jobs.ts";
import type { RecipeOffer } from "../../src/contract/recipes.ts";
import { type OperationId, type OperationRow, operations } from "../operations.ts";
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
  readonly offer: RecipeOffer;
  /** Input of the permission requests. Until a permission is granted, this input cannot be used in a job with the same recipe. */
  readonly sharedInputId: string;
  /** A job that failed retryably and that no example retries. */
  readonly failedJobId: string;
  /** Values of path and query parameters, by their names. */
  readonly values: Readonly<Record<string, string>>;
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
    jobOrder: { ...createJobBody(service, offer, input.id) },
    permissionRequest,
    submitNewJob,
    createFailedJob,
  };
}

/** Parts of a request that the service accepts: for a POST the example of its row, for a GET all required fields. */
export async function createRequest(exampleData: ExampleData, id: OperationId): Promise<Parts> {
  const { example: createExample, pathParameters, query }: OperationRow = operations[id];
  if (createExample !== undefined) return createExample(exampleData);
  const requiredValues = ({ shape }: OperationRow["query"]) =>
    Object.fromEntries(
      Object.entries(shape).flatMap(([name, schema]) =>
        schema instanceof z.ZodOptional ? [] : [[name, exampleData.values[name] ?? `no ${name} in the examples`]],
      ),
    );
  return { path: requiredValues(pathParameters), query: requiredValues(query) };
}

export function exampleDataForFile(service: () => Service): () => Promise<ExampleData> {
  let exampleData: Promise<ExampleData> | undefined;
  return () => {
    exampleData ??= createExampleData(service());
    return exampleData;
  };
}
