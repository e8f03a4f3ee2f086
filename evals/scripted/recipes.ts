// Creates a run_job call from a request in prose; the ports and parameters come from the recipe's own schema.
import * as z from "zod/v4";
import type { AgentClient, ToolArguments } from "../agent.ts";
import { getData } from "./results.ts";

const ListRecipesResult = z.looseObject({ data: z.array(z.looseObject({ versionId: z.string(), name: z.string() })) });
const Property = z.looseObject({ enum: z.array(z.string()).optional(), pattern: z.string().optional() });
const GetRecipeResult = z.looseObject({
  data: z.looseObject({
    recipe: z.looseObject({
      name: z.string(),
      versionId: z.string(),
      versionHash: z.string(),
      inputs: z.array(z.looseObject({ name: z.string() })),
      parameters: z.looseObject({
        definition: z.looseObject({
          properties: z.record(z.string(), Property).default({}),
          required: z.array(z.string()).default([]),
        }),
      }),
    }),
  }),
});
export type Recipe = z.infer<typeof GetRecipeResult>["data"]["recipe"];

/** The recipe whose name starts with this word. */
export async function findRecipe(client: AgentClient, word: string): Promise<Recipe> {
  const { data } = ListRecipesResult.parse(getData(await client.call("list_recipes")));
  const found = data.find(({ name }) => name.toLowerCase().startsWith(word.toLowerCase()));
  if (found === undefined) throw new Error(`no recipe is called ${word}: ${JSON.stringify(data)}`);
  return await readRecipe(client, found.versionId);
}

export async function readRecipe(client: AgentClient, versionId: string): Promise<Recipe> {
  return GetRecipeResult.parse(getData(await client.call("get_recipe", { versionId }))).data.recipe;
}

/** Finds each required parameter in the request: a value of its enum, or a word that matches its pattern. */
function selectParameters(request: string, { parameters }: Recipe): ToolArguments {
  const { properties, required } = parameters.definition;
  const selectValue = ({ enum: enumValues, pattern }: z.infer<typeof Property>): string | undefined =>
    enumValues?.find((value) => request.toLowerCase().includes(value.toLowerCase())) ??
    request.split(/[\s,.;:()]+/).find((word) => pattern !== undefined && new RegExp(pattern).test(word));
  return Object.fromEntries(required.map((name) => [name, selectValue(properties[name] ?? {})]));
}

/** Arguments of run_job for a recipe with one port. */
export const toRunJobArguments = (request: string, recipe: Recipe, referenceId: string): ToolArguments => ({
  recipeVersionId: recipe.versionId,
  inputs: [{ port: recipe.inputs[0]?.name, referenceId }],
  parameterValues: selectParameters(request, recipe),
});
