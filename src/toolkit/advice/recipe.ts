// What an agent decides by when it looks for a recipe, and what it needs to run one.
import type { RecipeDefinition, RecipeOffer, RecipeParameters } from "../../contract/recipes.ts";
import { quote } from "../../outside.ts";
import { lean } from "../lean.ts";
import { uris } from "../resources/uri.ts";
import type { Subject } from "../results.ts";

const portsOf = (inputs: RecipeDefinition["inputs"]): string => inputs.map(({ name }) => name).join(", ");

export const summarizeOffer = ({ recipe, expiresAt }: RecipeOffer) => ({
  versionId: recipe.versionId,
  name: recipe.name,
  ports: portsOf(recipe.inputs),
  expiresAt,
});

/** The JSON Schema, and what it refers to. */
const schemaOf = ({ definition, references }: RecipeParameters) => ({
  definition,
  ...(Object.keys(references).length > 0 && { references }),
});

/** `executionAvailable` is false in every offer of the contract: it does not say that a job cannot run, so it is left out. */
export const offerSubject: Subject<RecipeOffer> = {
  uri: ({ recipe }) => uris.recipe(recipe.versionId),
  advise: ({ recipe: { name, inputs } }) => ({
    summary: `Recipe ${quote(name)}: bind ${portsOf(inputs)}; give parameterValues as recipe.parameters.definition asks.`,
  }),
  lean({ recipe, expiresAt }) {
    const { versionId, versionHash, name, inputs, parameters, requiredPermissions, stopAfterStage } = recipe;
    const ports = inputs.map((each) => ({
      name: each.name,
      valueState: each.valueState,
      schema: schemaOf(each.schema),
    }));
    return {
      recipe: {
        ...{ versionId, versionHash, name, inputs: ports, parameters: schemaOf(parameters), stopAfterStage },
        ...lean({ requiredPermissions }),
      },
      ...lean({ expiresAt }),
    };
  },
};
