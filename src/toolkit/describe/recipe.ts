// This module describes recipe offers.
import type { RecipeOffer, RecipeParameters } from "../../contract/recipes.ts";
import { join, own, quoted, say } from "../../core/text.ts";
import type { Description } from "../results.ts";
import { toSummaryFields } from "../summary-view.ts";
import { references } from "../uri.ts";

export const summarizeOffer = ({ recipe, expiresAt }: RecipeOffer) => ({
  versionId: recipe.versionId,
  name: recipe.name,
  ports: recipe.inputs.map((input) => input.name).join(", "),
  expiresAt,
});

/** Returns the JSON Schema and the schemas that it references. */
const schemaOf = ({ definition, references }: RecipeParameters) => ({
  definition,
  ...(Object.keys(references).length > 0 && { references }),
});

/** Omits `executionAvailable`: it is false in every offer of the contract, even if jobs can run. */
export function describeOffer({ recipe, expiresAt }: RecipeOffer): Description {
  const { versionId, versionHash, name, inputs, parameters, requiredPermissions, stopAfterStage } = recipe;
  const ports = inputs.map((each) => ({ name: each.name, valueState: each.valueState, schema: schemaOf(each.schema) }));
  const portNames = join(
    inputs.map((input) => input.name),
    ", ",
  );
  return {
    summary: say`Recipe ${quoted(name)}: bind one input to ${own(inputs.length === 1 ? "the port" : "each of the ports")} ${portNames}. parameterValues must match recipe.parameters.definition.`,
    fields: {
      recipe: {
        ...{ versionId, versionHash, name, inputs: ports, parameters: schemaOf(parameters), stopAfterStage },
        ...toSummaryFields({ requiredPermissions }),
      },
      ...toSummaryFields({ expiresAt }),
    },
    link: references.recipe(versionId),
  };
}
