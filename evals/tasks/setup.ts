// Sets up and inspects a task's world with the setup client's calls.
import * as z from "zod/v4";
import type { ToolArguments } from "../agent.ts";
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

/** The distinct ids with this prefix in a text. */
/** Returns the states of the jobs that an answer names. */
export const findJobStates = async (world: World, answer: string): Promise<readonly string[]> =>
  await Promise.all(findIds(answer, "micjob").map((job) => readJobState(world, job)));

export const findIds = (text: string, prefix: string): readonly string[] => [
  ...new Set(text.match(new RegExp(`${prefix}_[0-9a-f]+`, "g"))),
];

/** A recipe with all that get_recipe shows of it, for a user who ran it before. */
export const describeRecipe = (id: string, port: string, parameterValues: ToolArguments): string =>
  `recipe ${id} (port ${port}, parameterValues ${JSON.stringify(parameterValues)})`;

export const describeNormalize = async (world: World): Promise<string> =>
  describeRecipe(await findRecipeId(world, NORMALIZE), "divisions", { level: "DISTRICT", vintage: VINTAGE });

export const describeProfile = async (world: World): Promise<string> =>
  describeRecipe(await findRecipeId(world, PROFILE), "table", {});
