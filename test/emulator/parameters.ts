// Creates valid values for an offer's parameter schema, and validates any value with ajv, independently of the emulator.

import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import fc from "fast-check";
import type { RecipeParameters } from "../../src/contract/recipes.ts";
import { valueAt } from "./http.ts";

/** Compiles a validator from a definition and its references, without fetching anything. */
export function compileValidator({
  definition,
  references,
}: Pick<RecipeParameters, "definition" | "references">): ValidateFunction {
  const ajv = new Ajv2020({ strict: false, validateFormats: false, allErrors: true });
  for (const [name, schema] of Object.entries(references)) ajv.addSchema(schema, name);
  return ajv.compile(definition);
}

/** The smallest value that the schema allows; supports only the keywords that recipes use. */
export function createValue(parameters: Pick<RecipeParameters, "definition" | "references">): unknown {
  const createFrom = (schema: unknown): unknown => {
    const ref = valueAt(schema, "$ref");
    if (typeof ref === "string") return createFrom(resolveReference(parameters, ref));
    for (const keyword of ["const", "examples", "enum"] as const) {
      const value = valueAt(schema, keyword);
      if (value !== undefined) return keyword === "const" ? value : valueAt(value, 0);
    }
    switch ([valueAt(schema, "type")].flat()[0]) {
      case "object":
        return Object.fromEntries(
          requiredNames(schema).map((name) => [name, createFrom(valueAt(schema, "properties", name))]),
        );
      case "array":
        return Array.from({ length: Number(valueAt(schema, "minItems") ?? 0) }, () =>
          createFrom(valueAt(schema, "items")),
        );
      case "string":
        return createText(schema);
      case "boolean":
        return true;
      case "integer":
      case "number":
        return Number(valueAt(schema, "minimum") ?? valueAt(schema, "maximum") ?? 1);
      default:
        return null;
    }
  };
  return createFrom(parameters.definition);
}

function createText(schema: unknown): string {
  const pattern = valueAt(schema, "pattern");
  if (typeof pattern !== "string") return "a".repeat(Number(valueAt(schema, "minLength") ?? 1));
  const [text = ""] = fc.sample(fc.stringMatching(new RegExp(pattern)), { numRuns: 1, seed: 1 });
  return text;
}

function requiredNames(schema: unknown): readonly string[] {
  const required = valueAt(schema, "required");
  return Array.isArray(required) ? required.map(String) : [];
}

function resolveReference(
  { definition, references }: Pick<RecipeParameters, "definition" | "references">,
  ref: string,
) {
  const [base = "", fragment = ""] = ref.split("#");
  const root = base === "" ? definition : references[base];
  const steps = fragment
    .split("/")
    .slice(1)
    .map((step) => decodeURIComponent(step).replaceAll("~1", "/").replaceAll("~0", "~"));
  return valueAt(root, ...steps);
}
