// The main workflow in steps, for tests of later steps: find a recipe, register an input, submit a job, advance the clock.
import { expect } from "vitest";
import type * as z from "zod/v4";
import type { Input } from "../../src/contract/inputs.ts";
import type { Job } from "../../src/contract/jobs.ts";
import type { RecipeOffer } from "../../src/contract/recipes.ts";
import type { Emulator } from "../../src/emulator/index.ts";
import { operations } from "../operations.ts";
import { createValue } from "./parameters.ts";
import type { Service } from "./service.ts";

/** The outcome of a job, by the index of its input's file. */
export const FILE = {
  succeeds: 0,
  failsRetryably: 1,
  failsForGood: 2,
  waitsForReview: 3,
  pauses: 4,
  waitsForScan: 5,
  quarantined: 6,
} as const;

export function fileId(service: Service, index: number): string {
  const id = service.emulator.fileIds[index];
  if (id === undefined) throw new Error(`the emulator has no fileIds[${index}]`);
  return id;
}

export async function registerInput(service: Service, index: number): Promise<z.output<typeof Input>> {
  const { data } = await service.ok(operations.createMicPublicInput, {
    body: { workspaceId: service.emulator.workspaceId, inputKind: "M4_FILE", referenceId: fileId(service, index) },
  });
  return data;
}

/** New inputs that fit an offer: a small file for a port with RAW values, and otherwise a dataset of the workspace. */
export async function createInputs(service: Service, { recipe }: RecipeOffer): Promise<readonly string[]> {
  const ids: string[] = [];
  for (const { valueState } of recipe.inputs)
    ids.push(
      (await (valueState === "RAW" ? registerInput(service, FILE.failsRetryably) : registerDataset(service))).id,
    );
  return ids;
}

async function registerDataset(service: Service): Promise<z.output<typeof Input>> {
  for (const inputId of service.emulator.inputIds) {
    const { data } = await service.ok(operations.getMicPublicInput, { path: { inputId } });
    const { workspaceId, inputKind, referenceId } = data;
    if (inputKind !== "DATASET_VERSION") continue;
    return (await service.ok(operations.createMicPublicInput, { body: { workspaceId, inputKind, referenceId } })).data;
  }
  throw new Error("none of the first inputs is a dataset version");
}

export async function listOffers(service: Service): Promise<readonly RecipeOffer[]> {
  const { data } = await service.ok(operations.listMicExecutableRecipes, {
    query: { workspaceId: service.emulator.workspaceId, limit: 100 },
  });
  return data;
}

/** An emulator's offers do not change. */
const oneInputOffers = new WeakMap<Emulator, RecipeOffer>();

/** The offer with one input and the latest stop stage. With one input, its file decides the outcome of its jobs. */
export async function findOneInputOffer(service: Service): Promise<RecipeOffer> {
  const known = oneInputOffers.get(service.emulator);
  if (known) return known;
  const stopStages = ["FREEZE", "TASTE", "CHURN", "BLEND", "REFINE", "SIFT"];
  const [best] = (await listOffers(service))
    .filter(({ recipe }) => recipe.inputs.length === 1)
    .sort((a, b) => stopStages.indexOf(a.recipe.stopAfterStage) - stopStages.indexOf(b.recipe.stopAfterStage));
  if (best === undefined) throw new Error("no offer has exactly one input");
  oneInputOffers.set(service.emulator, best);
  return best;
}

/** A valid body: the inputs are bound to the offer's ports in order. */
export const createJobBody = (service: Service, { recipe }: RecipeOffer, ...inputIds: readonly string[]) => ({
  workspaceId: service.emulator.workspaceId,
  recipeVersionId: recipe.versionId,
  inputBindings: recipe.inputs
    .slice(0, inputIds.length)
    .map(({ name }, at) => ({ port: name, inputId: inputIds[at] ?? "" })),
  parameterValues: createValue(recipe.parameters),
});

export async function createJobBodyForFile(service: Service, index: number) {
  const [offer, input] = await Promise.all([findOneInputOffer(service), registerInput(service, index)]);
  return createJobBody(service, offer, input.id);
}

export async function submitJob(service: Service, index: number): Promise<Job> {
  const { data } = await service.ok(operations.createMicJob, { body: await createJobBodyForFile(service, index) });
  return data;
}

export async function readJob(service: Service, jobId: string): Promise<Job> {
  const { data } = await service.ok(operations.getMicJob, { path: { jobId } });
  return data;
}

export const isTerminal = ({ state }: Job): boolean => ["SUCCEEDED", "FAILED", "CANCELLED"].includes(state);

/** Advances the clock in small steps and returns all readings, the first one before any step. Throws if `until` never holds. */
export async function watchJob(
  service: Service,
  jobId: string,
  until: (job: Job) => boolean = isTerminal,
  { stepMs = 125, maxSteps = 400 } = {},
): Promise<readonly Job[]> {
  const readings = [await readJob(service, jobId)];
  for (let step = 0; step < maxSteps && !until(last(readings)); step += 1) {
    service.clock.advance(stepMs);
    readings.push(await readJob(service, jobId));
  }
  expect(until(last(readings)), `job stands at ${JSON.stringify(last(readings))}`).toBe(true);
  return readings;
}

export async function runJobToEnd(service: Service, index: number): Promise<Job> {
  const { id } = await submitJob(service, index);
  return last(await watchJob(service, id, isTerminal, { stepMs: 60_000 }));
}

export const createRetryableJob = (service: Service): Promise<Job> => runJobToEnd(service, FILE.failsRetryably);

export function last<T>(items: readonly T[]): T {
  const item = items.at(-1);
  if (item === undefined) throw new Error("there is no last of none");
  return item;
}

export function createProcessingBody(service: Service, { recipe }: RecipeOffer, inputId: string) {
  return {
    workspaceId: service.emulator.workspaceId,
    inputId,
    recipeVersionId: recipe.versionId,
    recipeVersionHash: recipe.versionHash,
    purpose: "Count the mandals of each district",
    expiresAt: new Date(service.clock.now() + 3_600_000).toISOString(),
  };
}
