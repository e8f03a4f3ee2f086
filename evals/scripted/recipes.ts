// From the words about a recipe to a run_job call: ports and parameters as the recipe's own schema names them.
import * as z from "zod/v4";
import type { Args, Desk } from "../agent.ts";
import { dataOf } from "./reading.ts";

const Offers = z.looseObject({ data: z.array(z.looseObject({ versionId: z.string(), name: z.string() })) });
const Property = z.looseObject({ enum: z.array(z.string()).optional(), pattern: z.string().optional() });
const Offer = z.looseObject({
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
export type Recipe = z.infer<typeof Offer>["data"]["recipe"];

/** The recipe whose name begins with this word. */
export async function recipeCalled(desk: Desk, word: string): Promise<Recipe> {
  const { data } = Offers.parse(dataOf(await desk.call("list_recipes")));
  const found = data.find(({ name }) => name.toLowerCase().startsWith(word.toLowerCase()));
  if (found === undefined) throw new Error(`no recipe is called ${word}: ${JSON.stringify(data)}`);
  return await readRecipe(desk, found.versionId);
}

export async function readRecipe(desk: Desk, versionId: string): Promise<Recipe> {
  return Offer.parse(dataOf(await desk.call("get_recipe", { versionId }))).data.recipe;
}

/** Each parameter that must be there, from the request: the choice that it names, or the words of the right form. */
function parametersFrom(request: string, { parameters }: Recipe): Args {
  const { properties, required } = parameters.definition;
  const wanted = ({ enum: enumValues, pattern }: z.infer<typeof Property>): string | undefined =>
    enumValues?.find((value) => request.toLowerCase().includes(value.toLowerCase())) ??
    request.split(/[\s,.;:()]+/).find((word) => pattern !== undefined && new RegExp(pattern).test(word));
  return Object.fromEntries(required.map((name) => [name, wanted(properties[name] ?? {})]));
}

/** What run_job takes for a recipe with one port. */
export const jobOf = (request: string, recipe: Recipe, referenceId: string): Args => ({
  recipeVersionId: recipe.versionId,
  inputs: [{ port: recipe.inputs[0]?.name, referenceId }],
  parameterValues: parametersFrom(request, recipe),
});
