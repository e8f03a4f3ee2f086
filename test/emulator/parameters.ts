// Values for an offer's parameter schema: a maker of valid ones, and ajv as the independent judge of any.

import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import fc from "fast-check";
import type { RecipeParameters } from "../../src/contract/recipes.ts";
import { at } from "./http.ts";

/** Judges values by a definition and its references; nothing is fetched. */
export function judge({
  definition,
  references,
}: Pick<RecipeParameters, "definition" | "references">): ValidateFunction {
  const ajv = new Ajv2020({ strict: false, validateFormats: false, allErrors: true });
  for (const [name, schema] of Object.entries(references)) ajv.addSchema(schema, name);
  return ajv.compile(definition);
}

/** The smallest value that the schema describes, in the few keywords that recipes use. */
export function makeValue(parameters: Pick<RecipeParameters, "definition" | "references">): unknown {
  const make = (schema: unknown): unknown => {
    const ref = at(schema, "$ref");
    if (typeof ref === "string") return make(resolveReference(parameters, ref));
    for (const keyword of ["const", "examples", "enum"] as const) {
      const given = at(schema, keyword);
      if (given !== undefined) return keyword === "const" ? given : at(given, 0);
    }
    switch ([at(schema, "type")].flat()[0]) {
      case "object":
        return Object.fromEntries(requiredNames(schema).map((name) => [name, make(at(schema, "properties", name))]));
      case "array":
        return Array.from({ length: Number(at(schema, "minItems") ?? 0) }, () => make(at(schema, "items")));
      case "string":
        return makeText(schema);
      case "boolean":
        return true;
      case "integer":
      case "number":
        return Number(at(schema, "minimum") ?? at(schema, "maximum") ?? 1);
      default:
        return null;
    }
  };
  return make(parameters.definition);
}

function makeText(schema: unknown): string {
  const pattern = at(schema, "pattern");
  if (typeof pattern !== "string") return "a".repeat(Number(at(schema, "minLength") ?? 1));
  const [text = ""] = fc.sample(fc.stringMatching(new RegExp(pattern)), { numRuns: 1, seed: 1 });
  return text;
}

export function requiredNames(schema: unknown): readonly string[] {
  const required = at(schema, "required");
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
  return at(root, ...steps);
}
