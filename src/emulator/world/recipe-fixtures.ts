// Defines the emulator's recipes as their authors wrote them: names, inputs and parameter schemas (JSON Schema 2020-12).

import type { JsonObject } from "../../contract/json.ts";
import type { RecipeDefinition } from "../../contract/recipes.ts";
import type { CapabilityName } from "./capabilities.ts";

interface SchemaFixture {
  readonly definition: JsonObject;
  /** A definition refers to one of these as {"$ref": "<key>"}. */
  readonly references?: Readonly<Record<string, JsonObject>>;
}

export interface RecipeFixture {
  readonly name: string;
  readonly inputs: readonly (Pick<RecipeDefinition["inputs"][number], "name" | "valueState"> & {
    readonly schema: SchemaFixture;
  })[];
  readonly parameters: SchemaFixture;
  readonly requiredPermissions: readonly string[];
  readonly stopAfterStage: RecipeDefinition["stopAfterStage"];
  readonly capability: CapabilityName;
  /** Set if the offer expired before the emulator started. */
  readonly isExpired?: true;
}

const closedObject = (properties: JsonObject, required: readonly string[] = Object.keys(properties)): JsonObject => ({
  type: "object",
  properties,
  required,
  additionalProperties: false,
});
const oneOf = (...values: string[]) => ({ type: "string", enum: values });
const textMatching = (pattern: string) => ({ type: "string", pattern });
const text = (bounds: JsonObject = {}) => ({ type: "string", minLength: 1, ...bounds });
const integer = (minimum: number, bounds: JsonObject = {}) => ({ type: "integer", minimum, ...bounds });
const list = (items: JsonObject, maxItems: number) => ({ type: "array", items, minItems: 1, maxItems });
const reference = (key: string) => ({ $ref: key });

const rowsSchema = (properties: JsonObject): SchemaFixture => ({
  definition: { type: "array", items: closedObject(properties) },
});
const divisions = rowsSchema({ code: text(), name: text(), mandalCount: integer(0) });
const anyTable: SchemaFixture = { definition: { type: "array", items: { type: "object" } } };
const rawInput = (name: string, schema: SchemaFixture) => ({ name, valueState: "RAW", schema }) as const;

const matchRule = closedObject(
  {
    field: oneOf("code", "name"),
    method: oneOf("EXACT", "FOLDED", "SIMILAR"),
    minScore: { type: "number", minimum: 0, maximum: 1 },
  },
  ["field", "method"],
);
const columnMap = closedObject({
  source: text({ maxLength: 80 }),
  target: textMatching("^[a-z][A-Za-z0-9]{0,39}$"),
  rules: list(reference("match-rule"), 5),
});

/** In the order of `recipeVersionIds`, which do not include the expired recipe. */
export const RECIPE_FIXTURES: readonly RecipeFixture[] = [
  {
    name: "Normalize administrative divisions",
    inputs: [rawInput("divisions", divisions)],
    parameters: {
      definition: closedObject(
        {
          level: { ...oneOf("STATE", "DISTRICT"), description: "Which level the rows are on." },
          vintage: { ...textMatching("^[0-9]{4}-[0-9]{2}-[0-9]{2}$"), description: "Date of the facts." },
          dropEmptyRows: { type: "boolean" },
        },
        ["level", "vintage"],
      ),
    },
    requiredPermissions: ["files:read", "geo.catalogue:read"],
    stopAfterStage: "FREEZE",
    capability: "divisions",
  },
  {
    name: "Match divisions by mapped columns",
    inputs: [rawInput("divisions", divisions)],
    parameters: {
      definition: closedObject(
        {
          columns: list(reference("column-map"), 20),
          fallback: closedObject({ rule: reference("match-rule"), maxCandidates: integer(1, { maximum: 50 }) }, [
            "rule",
          ]),
          unmatched: oneOf("KEEP", "DROP", "FAIL"),
        },
        ["columns", "unmatched"],
      ),
      references: { "column-map": columnMap, "match-rule": matchRule },
    },
    requiredPermissions: ["files:read", "geo.catalogue:read"],
    stopAfterStage: "TASTE",
    capability: "divisions",
  },
  {
    name: "Blend a table with a normalized dataset",
    inputs: [rawInput("table", anyTable), { name: "reference", valueState: "NORMALIZED", schema: divisions }],
    parameters: { definition: closedObject({ joinOn: { ...list(text(), 3), uniqueItems: true } }) },
    requiredPermissions: ["files:read", "datasets:read"],
    stopAfterStage: "FREEZE",
    capability: "table",
  },
  {
    name: "Profile a sample of a table",
    inputs: [rawInput("table", anyTable)],
    parameters: { definition: closedObject({}) },
    requiredPermissions: ["files:read"],
    stopAfterStage: "SIFT",
    capability: "sample",
  },
  {
    name: "Extract text of a document",
    inputs: [rawInput("document", { definition: { type: "string" } })],
    parameters: { definition: closedObject({ language: oneOf("en", "hi") }) },
    requiredPermissions: ["files:read", "documents:read"],
    stopAfterStage: "CHURN",
    capability: "document",
  },
  {
    name: "Normalize administrative divisions (2025 rules)",
    inputs: [rawInput("divisions", divisions)],
    parameters: { definition: closedObject({}) },
    requiredPermissions: ["files:read"],
    stopAfterStage: "FREEZE",
    capability: "divisions",
    isExpired: true,
  },
];
