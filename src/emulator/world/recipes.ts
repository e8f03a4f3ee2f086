// Recipe offers and the check of parameterValues against what they publish.
import { Ajv2020, type ErrorObject, type ValidateFunction } from "ajv/dist/2020.js";
import { jsonPointer } from "../../contract/json-pointer.ts";
import type { FieldError } from "../../contract/problem.ts";
import type { RecipeDefinition, RecipeOffer, RecipeParameters } from "../../contract/recipes.ts";
import { ID_PREFIX } from "../assumptions.ts";
import { DAY, instant } from "../clock.ts";
import { type Ids, sha256 } from "../ids.ts";
import type { CapabilityName } from "./capabilities.ts";
import { RECIPE_TEXTS, type RecipeText } from "./recipe-texts.ts";

const OFFER_LIFETIME_MS = 365 * DAY;

export class Recipe {
  readonly offer: RecipeOffer;
  readonly capability: CapabilityName;
  readonly #expiresAt: number;
  #validate: ValidateFunction | undefined;

  constructor(offer: RecipeOffer, capability: CapabilityName) {
    this.offer = offer;
    this.capability = capability;
    this.#expiresAt = Date.parse(offer.expiresAt);
  }

  get definition(): RecipeDefinition {
    return this.offer.recipe;
  }

  get expiresAt(): number {
    return this.#expiresAt;
  }

  isOfferedAt(now: number): boolean {
    return now < this.#expiresAt;
  }

  /** Where the values differ from the published schema. No default is filled in, no type coerced, nothing fetched. */
  parameterErrors(values: unknown): readonly FieldError[] {
    this.#validate ??= compile(this.definition.parameters);
    return this.#validate(values) ? [] : (this.#validate.errors ?? []).map(fieldError);
  }
}

/** `{"$ref": "<key>"}` finds the reference of that key: it is known to ajv by the key as its address. */
function compile({ definition, references }: RecipeParameters): ValidateFunction {
  const ajv = new Ajv2020({ strict: false, allErrors: true, ownProperties: true, logger: false });
  for (const [key, schema] of Object.entries(references)) ajv.addSchema(schema, key);
  return ajv.compile(definition);
}

/** An error at a property that is missing or not allowed points at that property. */
function fieldError({ instancePath, keyword, message, params }: ErrorObject): FieldError {
  const named: unknown = params["missingProperty"] ?? params["additionalProperty"];
  const pointer = `/parameterValues${instancePath}${typeof named === "string" ? jsonPointer([named]) : ""}`;
  const code = keyword.replace(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase();
  const allowed: unknown = params["allowedValues"];
  const hint = Array.isArray(allowed) ? `: ${allowed.join(", ")}` : "";
  return { pointer, code, message: `${message ?? "does not match the schema"}${hint}` };
}

function parameters(versionId: string, { definition, references = {} }: RecipeText["parameters"]): RecipeParameters {
  return { versionId, contentHash: sha256(JSON.stringify({ definition, references })), definition, references };
}

function makeOffer(ids: Ids, workspaceId: string, text: RecipeText, index: number, startedAt: number): RecipeOffer {
  const unhashed = {
    recipeId: ids.next(ID_PREFIX.recipe),
    versionId: ids.next(ID_PREFIX.recipeVersion),
    name: text.name,
    inputs: text.inputs.map(({ name, valueState, schema }) => ({
      name,
      schemaVersionId: `schema:${name}:${index + 1}`,
      valueState,
      schema: parameters(`schema:${name}:${index + 1}`, schema),
    })),
    parameters: parameters(`parameters:${index + 1}`, text.parameters),
    requiredPermissions: [...text.requiredPermissions],
    stopAfterStage: text.stopAfterStage,
  } satisfies Omit<RecipeDefinition, "versionHash">;
  const approvedAt = startedAt - (text.isExpired ? 400 : 60 + index) * DAY;
  return {
    id: ids.next(ID_PREFIX.offer),
    workspaceId,
    environment: "SANDBOX",
    resourceVersion: String(index + 1),
    recipe: { ...unhashed, versionHash: sha256(JSON.stringify(unhashed)) },
    availability: "REVIEWED_REFERENCE",
    executionAvailable: false,
    approvedAt: instant(approvedAt),
    expiresAt: instant(approvedAt + OFFER_LIFETIME_MS),
  };
}

/** In the order of the texts. */
export const makeRecipes = (ids: Ids, workspaceId: string, startedAt: number): readonly Recipe[] =>
  RECIPE_TEXTS.map((text, index) => new Recipe(makeOffer(ids, workspaceId, text, index, startedAt), text.capability));
