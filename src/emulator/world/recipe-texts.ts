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

const closed = (properties: JsonObject, required: readonly string[] = Object.keys(properties)): JsonObject => ({
  type: "object",
  properties,
  required,
  additionalProperties: false,
});
const oneOf = (...values: string[]) => ({ type: "string", enum: values });
const matching = (pattern: string) => ({ type: "string", pattern });
const text = (bounds: JsonObject = {}) => ({ type: "string", minLength: 1, ...bounds });
const integer = (minimum: number, bounds: JsonObject = {}) => ({ type: "integer", minimum, ...bounds });
const list = (items: JsonObject, maxItems: number) => ({ type: "array", items, minItems: 1, maxItems });
const reference = (key: string) => ({ $ref: key });

const rowsOf = (properties: JsonObject): SchemaText => ({ definition: { type: "array", items: closed(properties) } });
const divisions = rowsOf({ code: text(), name: text(), mandalCount: integer(0) });
const anyTable = rowsOf({});
const raw = (name: string, schema: SchemaText) => ({ name, valueState: "RAW", schema }) as const;

const matchRule = closed(
  {
    field: oneOf("code", "name"),
    method: oneOf("EXACT", "FOLDED", "SIMILAR"),
    minScore: { type: "number", minimum: 0, maximum: 1 },
  },
  ["field", "method"],
);
const columnMap = closed({
  source: text({ maxLength: 80 }),
  target: matching("^[a-z][A-Za-z0-9]{0,39}$"),
  rules: list(reference("match-rule"), 5),
});

/** In the order of `recipeVersionIds`; the expired one is not among them. */
export const RECIPE_TEXTS: readonly RecipeText[] = [
  {
    name: "Normalize administrative divisions",
    inputs: [raw("divisions", divisions)],
    parameters: {
      definition: closed(
        {
          level: { ...oneOf("STATE", "DISTRICT"), description: "Which level the rows are on." },
          vintage: { ...matching("^[0-9]{4}-[0-9]{2}-[0-9]{2}$"), description: "Date of the facts." },
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
    inputs: [raw("divisions", divisions)],
    parameters: {
      definition: closed(
        {
          columns: list(reference("column-map"), 20),
          fallback: closed({ rule: reference("match-rule"), maxCandidates: integer(1, { maximum: 50 }) }, ["rule"]),
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
    inputs: [raw("table", anyTable), { name: "reference", valueState: "NORMALIZED", schema: divisions }],
    parameters: { definition: closed({ joinOn: { ...list(text(), 3), uniqueItems: true } }) },
    requiredPermissions: ["files:read", "datasets:read"],
    stopAfterStage: "FREEZE",
    capability: "table",
  },
  {
    name: "Profile a sample of a table",
    inputs: [raw("table", anyTable)],
    parameters: { definition: closed({}) },
    requiredPermissions: ["files:read"],
    stopAfterStage: "SIFT",
    capability: "sample",
  },
  {
    name: "Extract text of a document",
    inputs: [raw("document", { definition: { type: "string" } })],
    parameters: { definition: closed({ language: oneOf("en", "hi") }) },
    requiredPermissions: ["files:read", "documents:read"],
    stopAfterStage: "CHURN",
    capability: "document",
  },
  {
    name: "Normalize administrative divisions (2025 rules)",
    inputs: [raw("divisions", divisions)],
    parameters: { definition: closed({}) },
    requiredPermissions: ["files:read"],
    stopAfterStage: "FREEZE",
    capability: "divisions",
    isExpired: true,
  },
];
