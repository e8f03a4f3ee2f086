// What an agent decides by when it looks for a recipe.
import type { RecipeOffer } from "../../contract/recipes.ts";

export const summarizeOffer = ({ recipe, expiresAt }: RecipeOffer) => ({
  versionId: recipe.versionId,
  name: recipe.name,
  ports: recipe.inputs.map(({ name }) => name).join(", "),
  expiresAt,
});
