// Creates recipe offers, and validates parameterValues against their published schemas.
import { Ajv2020, type ErrorObject, type ValidateFunction } from "ajv/dist/2020.js";
import { jsonPointer } from "../../contract/json.ts";
import type { FieldError } from "../../contract/problem.ts";
import type { RecipeDefinition, RecipeOffer, RecipeParameters } from "../../contract/recipes.ts";
import { ID_PREFIX } from "../assumptions.ts";
import { DAY, toInstant } from "../clock.ts";
import { type IdGenerator, sha256 } from "../ids.ts";
import type { CapabilityName } from "./capabilities.ts";
import { RECIPE_FIXTURES, type RecipeFixture } from "./recipe-fixtures.ts";

const OFFER_LIFETIME_MS = 365 * DAY;

export type Recipe = ReturnType<typeof createRecipe>;

function createRecipe(offer: RecipeOffer, capability: CapabilityName) {
  const { recipe: definition } = offer;
  const expiresAt = Date.parse(offer.expiresAt);
  return {
    offer,
    definition,
    capability,
    expiresAt,
    isOfferedAt: (now: number): boolean => now < expiresAt,
    /** Returns the violations of the published schema. Validation does not fill in defaults, coerce types or fetch anything. */
    parameterErrors(values: unknown): readonly FieldError[] {
      const validate = compileParameters(definition.parameters);
      return validate(values) ? [] : (validate.errors ?? []).map(toFieldError);
    },
  };
}

/** By content hash, for all emulators of this process. */
const compiled = new Map<string, ValidateFunction>();

/**
 * Registers each reference with ajv under its key, so that `{"$ref": "<key>"}` resolves to it. The schemas are the emulator's own, and
 * compiling the schema of schemas to check them would take longer than all the rest.
 */
function compileParameters({ contentHash, definition, references }: RecipeParameters): ValidateFunction {
  const known = compiled.get(contentHash);
  if (known) return known;
  const ajv = new Ajv2020({
    strict: false,
    allErrors: true,
    ownProperties: true,
    validateSchema: false,
    logger: false,
  });
  for (const [key, schema] of Object.entries(references)) ajv.addSchema(schema, key);
  const validate = ajv.compile(definition);
  compiled.set(contentHash, validate);
  return validate;
}

/** Converts an ajv error. If a property is missing or not allowed, the pointer includes that property. */
function toFieldError({ instancePath, keyword, message, params }: ErrorObject): FieldError {
  const property: unknown = params["missingProperty"] ?? params["additionalProperty"];
  const pointer = `/parameterValues${instancePath}${typeof property === "string" ? jsonPointer([property]) : ""}`;
  const code = keyword.replace(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase();
  const allowed: unknown = params["allowedValues"];
  const hint = Array.isArray(allowed) ? `: ${allowed.join(", ")}` : "";
  const text = "missingProperty" in params ? "is missing" : "additionalProperty" in params ? "is not allowed" : message;
  return { pointer, code, message: `${text ?? "does not match the schema"}${hint}` };
}

function toRecipeParameters(
  versionId: string,
  { definition, references = {} }: RecipeFixture["parameters"],
): RecipeParameters {
  return { versionId, contentHash: sha256(JSON.stringify({ definition, references })), definition, references };
}

function createOffer(
  ids: IdGenerator,
  workspaceId: string,
  fixture: RecipeFixture,
  index: number,
  startedAt: number,
): RecipeOffer {
  const content = {
    recipeId: ids.next(ID_PREFIX.recipe),
    versionId: ids.next(ID_PREFIX.recipeVersion),
    name: fixture.name,
    inputs: fixture.inputs.map(({ name, valueState, schema }) => ({
      name,
      schemaVersionId: `schema:${name}:${index + 1}`,
      valueState,
      schema: toRecipeParameters(`schema:${name}:${index + 1}`, schema),
    })),
    parameters: toRecipeParameters(`parameters:${index + 1}`, fixture.parameters),
    requiredPermissions: [...fixture.requiredPermissions],
    stopAfterStage: fixture.stopAfterStage,
  } satisfies Omit<RecipeDefinition, "versionHash">;
  const approvedAt = startedAt - (fixture.isExpired ? 400 : 60 + index) * DAY;
  return {
    id: ids.next(ID_PREFIX.offer),
    workspaceId,
    environment: "SANDBOX",
    resourceVersion: String(index + 1),
    recipe: { ...content, versionHash: sha256(JSON.stringify(content)) },
    availability: "REVIEWED_REFERENCE",
    executionAvailable: false,
    approvedAt: toInstant(approvedAt),
    expiresAt: toInstant(approvedAt + OFFER_LIFETIME_MS),
  };
}

export const createRecipes = (ids: IdGenerator, workspaceId: string, startedAt: number): readonly Recipe[] =>
  RECIPE_FIXTURES.map((text, index) =>
    createRecipe(createOffer(ids, workspaceId, text, index, startedAt), text.capability),
  );
