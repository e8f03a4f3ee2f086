// The recipes that are offered, as their authors wrote them: names, inputs, parameter schemas (JSON Schema 2020-12).
import type { JsonObject } from "../../contract/json.ts";
import type { RecipeDefinition } from "../../contract/recipes.ts";
import type { CapabilityName } from "./capabilities.ts";

interface SchemaText {
  readonly definition: JsonObject;
  /** A definition refers to one of these as {"$ref": "<key>"}. */
  readonly references?: Readonly<Record<string, JsonObject>>;
}

export interface RecipeText {
  readonly name: string;
  readonly inputs: readonly (Pick<RecipeDefinition["inputs"][number], "name" | "valueState"> & {
    readonly schema: SchemaText;
  })[];
  readonly parameters: SchemaText;
  readonly requiredPermissions: readonly string[];
  readonly stopAfterStage: RecipeDefinition["stopAfterStage"];
  readonly capability: CapabilityName;
  /** The offer ended before the emulator started. */
  readonly isExpired?: true;
}

const closed = (properties: JsonObject, required: readonly string[]): JsonObject => ({
  type: "object",
  properties,
  required,
  additionalProperties: false,
});

const rowsOf = (properties: JsonObject): SchemaText => ({
  definition: { type: "array", items: closed(properties, Object.keys(properties)) },
});

const text = { type: "string", minLength: 1 } as const;
const count = { type: "integer", minimum: 0 } as const;
const divisions = rowsOf({ code: text, name: text, mandalCount: count });
const anyTable = rowsOf({});

const matchRule = closed(
  {
    field: { type: "string", enum: ["code", "name"] },
    method: { type: "string", enum: ["EXACT", "FOLDED", "SIMILAR"] },
    minScore: { type: "number", minimum: 0, maximum: 1 },
  },
  ["field", "method"],
);

const columnMap = closed(
  {
    source: { type: "string", minLength: 1, maxLength: 80 },
    target: { type: "string", pattern: "^[a-z][A-Za-z0-9]{0,39}$" },
    rules: { type: "array", items: { $ref: "match-rule" }, minItems: 1, maxItems: 5 },
  },
  ["source", "target", "rules"],
);

/** In the order of `recipeVersionIds`; the expired one is not among them. */
export const RECIPE_TEXTS: readonly RecipeText[] = [
  {
    name: "Normalize administrative divisions",
    inputs: [{ name: "divisions", valueState: "RAW", schema: divisions }],
    parameters: {
      definition: closed(
        {
          level: { type: "string", enum: ["STATE", "DISTRICT"], description: "Which level the rows are on." },
          vintage: { type: "string", pattern: "^[0-9]{4}-[0-9]{2}-[0-9]{2}$", description: "Date of the facts." },
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
    inputs: [{ name: "divisions", valueState: "RAW", schema: divisions }],
    parameters: {
      definition: closed(
        {
          columns: { type: "array", items: { $ref: "column-map" }, minItems: 1, maxItems: 20 },
          fallback: closed(
            { rule: { $ref: "match-rule" }, maxCandidates: { type: "integer", minimum: 1, maximum: 50 } },
            ["rule"],
          ),
          unmatched: { type: "string", enum: ["KEEP", "DROP", "FAIL"] },
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
    inputs: [
      { name: "table", valueState: "RAW", schema: anyTable },
      { name: "reference", valueState: "NORMALIZED", schema: divisions },
    ],
    parameters: {
      definition: closed({ joinOn: { type: "array", items: text, minItems: 1, maxItems: 3, uniqueItems: true } }, [
        "joinOn",
      ]),
    },
    requiredPermissions: ["files:read", "datasets:read"],
    stopAfterStage: "FREEZE",
    capability: "table",
  },
  {
    name: "Profile a sample of a table",
    inputs: [{ name: "table", valueState: "RAW", schema: anyTable }],
    parameters: { definition: closed({}, []) },
    requiredPermissions: ["files:read"],
    stopAfterStage: "SIFT",
    capability: "sample",
  },
  {
    name: "Extract text of a document",
    inputs: [{ name: "document", valueState: "RAW", schema: { definition: { type: "string" } } }],
    parameters: { definition: closed({ language: { type: "string", enum: ["en", "hi"] } }, ["language"]) },
    requiredPermissions: ["files:read", "documents:read"],
    stopAfterStage: "CHURN",
    capability: "document",
  },
  {
    name: "Normalize administrative divisions (2025 rules)",
    inputs: [{ name: "divisions", valueState: "RAW", schema: divisions }],
    parameters: { definition: closed({}, []) },
    requiredPermissions: ["files:read"],
    stopAfterStage: "FREEZE",
    capability: "divisions",
    isExpired: true,
  },
];
