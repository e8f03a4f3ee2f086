// Sets up and inspects a task's world with the setup client's calls.
import * as z from "zod/v4";
import type { ToolArguments } from "../agent.ts";
import { findIds } from "../scripted/results.ts";
import type { World } from "../world.ts";

const ListRecipesResult = z.looseObject({ data: z.array(z.looseObject({ versionId: z.string(), name: z.string() })) });
const CreateResult = z.looseObject({ data: z.looseObject({ id: z.string() }) });
const JobResult = z.looseObject({ data: z.looseObject({ state: z.string() }) });

export const NORMALIZE = "Normalize administrative divisions";
export const PROFILE = "Profile a sample of a table";

/** The vintage of the emulator's tables. */
export const VINTAGE = "2026-05-25";

export async function findRecipeId(world: World, name: string): Promise<string> {
  const { data } = ListRecipesResult.parse(await world.callTool("list_recipes", {}));
  const found = data.find((recipe) => recipe.name === name);
  if (found === undefined) throw new Error(`no recipe is called ${name}`);
  return found.versionId;
}

export async function registerInput(world: World, fileName: string): Promise<string> {
  const args = { inputKind: "M4_FILE", referenceId: world.fileId(fileName) };
  return CreateResult.parse(await world.callTool("register_input", args)).data.id;
}

/** Submits a job as another client and advances the clock by `agoMs`. */
export async function submitJob(world: World, fileName: string, agoMs: number): Promise<string> {
  const args = {
    recipeVersionId: await findRecipeId(world, NORMALIZE),
    inputBindings: [{ port: "divisions", inputId: await registerInput(world, fileName) }],
    parameterValues: { level: "DISTRICT", vintage: VINTAGE },
  };
  const { data } = CreateResult.parse(await world.callTool("submit_job", args));
  world.advanceClock(agoMs);
  return data.id;
}

export async function readJobState(world: World, jobId: string): Promise<string> {
  return JobResult.parse(await world.callTool("get_job", { jobId })).data.state;
}

/** Arguments of run_job for the recipe that normalizes, on this file. */
export const createJobArguments = async (world: World, fileName: string) => ({
  recipeVersionId: await findRecipeId(world, NORMALIZE),
  inputs: [{ port: "divisions", referenceId: world.fileId(fileName) }],
  parameterValues: { level: "DISTRICT", vintage: VINTAGE },
});

/** Returns the states of the jobs that an answer names. */
export const findJobStates = async (world: World, answer: string): Promise<readonly string[]> =>
  await Promise.all(findIds(answer, "micjob").map((job) => readJobState(world, job)));

/** Problems unless the answer contains the id of a succeeded job, and exactly one job was submitted, for one registered input. */
export const checkSuccess = async (world: World, answer: string): Promise<readonly (string | false)[]> => [
  !(await findJobStates(world, answer)).includes("SUCCEEDED") && `no job that is named has succeeded: ${answer}`,
  (await world.countExecutions("createMicJob")) !== 1 && "not one job was submitted",
  (await world.countExecutions("createMicPublicInput")) !== 1 && "not one input was registered",
];

/** A recipe with all that get_recipe shows of it, for a user who ran it before. */
export const describeRecipe = (id: string, port: string, parameterValues: ToolArguments): string =>
  `recipe ${id} (port ${port}, parameterValues ${JSON.stringify(parameterValues)})`;

export const describeNormalize = async (world: World): Promise<string> =>
  describeRecipe(await findRecipeId(world, NORMALIZE), "divisions", { level: "DISTRICT", vintage: VINTAGE });

export const describeProfile = async (world: World): Promise<string> =>
  describeRecipe(await findRecipeId(world, PROFILE), "table", {});
