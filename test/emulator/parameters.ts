// Creates valid values for an offer's parameter schema.
import fc from "fast-check";
import type { RecipeParameters } from "../../src/contract/recipes.ts";
import { valueAt } from "./http.ts";

type Schemas = Pick<RecipeParameters, "definition" | "references">;

const toList = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

/** The smallest value that the schema allows; supports only the keywords that the emulator's recipes use. */
export function createValue({ definition, references }: Schemas): unknown {
  const createFrom = (schema: unknown): unknown => {
    const keyword = (name: string) => valueAt(schema, name);
    const ref = keyword("$ref");
    if (typeof ref === "string") return createFrom(references[ref]);
    const [firstValue] = toList(keyword("enum"));
    if (firstValue !== undefined) return firstValue;
    switch (keyword("type")) {
      case "object": {
        const names = toList(keyword("required")).map(String);
        return Object.fromEntries(names.map((name) => [name, createFrom(valueAt(schema, "properties", name))]));
      }
      case "array":
        return Array.from({ length: Number(keyword("minItems") ?? 0) }, () => createFrom(keyword("items")));
      case "string":
        return createText(keyword("pattern"), Number(keyword("minLength") ?? 1));
      case "boolean":
        return true;
      default:
        return Number(keyword("minimum") ?? 1);
    }
  };
  return createFrom(definition);
}

/** Texts by their patterns: finding a text takes longer than most tests. The snapshots and docs show the date, so it is a valid one. */
const texts = new Map([["^[0-9]{4}-[0-9]{2}-[0-9]{2}$", "2026-09-30"]]);

function createText(pattern: unknown, length: number): string {
  if (typeof pattern !== "string") return "a".repeat(length);
  const [text = ""] = texts.has(pattern)
    ? [texts.get(pattern)]
    : fc.sample(fc.stringMatching(new RegExp(pattern)), { numRuns: 1, seed: 1 });
  texts.set(pattern, text);
  return text;
}
