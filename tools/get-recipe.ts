// This module defines get_recipe, which reads one recipe version with its ports and parameter schema.
import * as z from "zod/v4";
import { getMicExecutableRecipe } from "../src/contract/endpoints/job-processing.ts";
import type { RecipeOffer } from "../src/contract/recipes.ts";
import { recipeOfferPresenter } from "../src/toolkit/advice/presenters.ts";
import { view } from "../src/toolkit/arguments.ts";
import { defineTool } from "../src/toolkit/define-tool.ts";
import { outputs } from "../src/toolkit/outputs.ts";
import { resourceResult } from "../src/toolkit/results.ts";

export const getRecipe = defineTool({
  endpoint: getMicExecutableRecipe,
  name: "get_recipe",
  title: "Get a recipe version",
  description:
    "One recipe version: recipe.inputs[].name are the ports to bind, recipe.parameters.definition is the JSON Schema " +
    "of parameterValues, recipe.versionHash is for processing requests.",
  effect: "read",
  input: z.strictObject({ ...getMicExecutableRecipe.pathParameters.shape, view }),
  output: outputs.advised<RecipeOffer>(),
  async run({ view, ...path }, call, { service, offers }) {
    const answer = await service.call(getMicExecutableRecipe, { path }, call.context);
    offers.remember([answer.value.data]);
    return await resourceResult(answer, recipeOfferPresenter, call, { view });
  },
});
