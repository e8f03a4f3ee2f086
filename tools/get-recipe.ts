// This module defines get_recipe, which reads one recipe version with its ports and parameter schema.
import * as z from "zod/v4";
import { getMicExecutableRecipe } from "../src/contract/endpoints/job-processing.ts";
import type { RecipeOffer } from "../src/contract/recipes.ts";
import { view } from "../src/toolkit/arguments.ts";
import { defineTool } from "../src/toolkit/define-tool.ts";
import { describeOffer } from "../src/toolkit/describe/recipe.ts";
import { outputs } from "../src/toolkit/outputs.ts";
import { resourceResult } from "../src/toolkit/results.ts";

const { versionId } = getMicExecutableRecipe.pathParameters.shape;

export const getRecipe = defineTool({
  endpoint: getMicExecutableRecipe,
  name: "get_recipe",
  title: "Get a recipe version and its parameter schema",
  description:
    "Get one recipe version: ports to bind (recipe.inputs[].name), JSON Schema of parameterValues (recipe.parameters.definition). " +
    "Its recipe.versionHash is for request_file_processing.",
  effect: "read",
  input: z.strictObject({ versionId, view }),
  output: outputs.resource<RecipeOffer>(),
  async run({ view, ...path }, ctx) {
    const answer = await ctx.api.call(getMicExecutableRecipe, { path }, ctx);
    ctx.offers.remember([answer.value.data]);
    return await resourceResult(answer, describeOffer, { view });
  },
});
