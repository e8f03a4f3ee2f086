import { getMicExecutableRecipe } from "../src/contract/endpoints/job-processing.ts";
import type { RecipeOffer } from "../src/contract/recipes.ts";
import { defineTool } from "../src/toolkit/define-tool.ts";
import { outputs } from "../src/toolkit/outputs.ts";
import { uris } from "../src/toolkit/resources/uri.ts";
import { resourceResult } from "../src/toolkit/results.ts";

export const getRecipe = defineTool({
  endpoint: getMicExecutableRecipe,
  name: "get_recipe",
  title: "Get a recipe version",
  description:
    "One recipe offer, whole: recipe.inputs[].name are the ports to bind, recipe.parameters.definition is the JSON Schema " +
    "of parameterValues, recipe.versionHash is for processing requests.",
  effect: "read",
  input: getMicExecutableRecipe.pathParameters,
  output: outputs.resource<RecipeOffer>(),
  async run(path, { context }, { service, offers }) {
    const answer = await service.call(getMicExecutableRecipe, { path }, context);
    offers.remember([answer.value.data]);
    return resourceResult(answer, uris.recipe(path.versionId));
  },
});
