// This module describes recipe offers.
import type { RecipeDefinition, RecipeOffer, RecipeParameters } from "../../contract/recipes.ts";
import { quote } from "../../core/untrusted-text.ts";
import type { Description } from "../results.ts";
import { toSummaryFields } from "../summary-view.ts";
import { references } from "../uri.ts";

const portsOf = (inputs: RecipeDefinition["inputs"]): string => inputs.map(({ name }) => name).join(", ");

export const summarizeOffer = ({ recipe, expiresAt }: RecipeOffer) => ({
  versionId: recipe.versionId,
  name: recipe.name,
  ports: portsOf(recipe.inputs),
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
  return {
    summary: `Recipe ${quote(name)}: bind one input to ${inputs.length === 1 ? "the port" : "each of the ports"} ${portsOf(inputs)}. parameterValues must match recipe.parameters.definition.`,
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
