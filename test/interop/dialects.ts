// Defines the schema dialects of model APIs: the schemas that each accepts, and the changes that its hosts make before they send one. See also
// schema-rules.ts, which has the rules that every API shares. docs/use/clients.md has the results as a table.
// OpenAI strict: https://platform.openai.com/docs/guides/structured-outputs (closed objects, all properties required); the conversion is
//   that of @openai/agents.
// Gemini `parameters`: https://ai.google.dev/api/caching#Schema (no additionalProperties, no object without properties); hosts strip the first
//   and leave out empty parameters. `parametersJsonSchema` takes JSON Schema.
// Anthropic strict: https://platform.claude.com/docs/en/build-with-claude/structured-outputs (no bounds); SDKs strip the bounds.
// Bedrock Nova: https://github.com/pydantic/pydantic-ai/issues/1623 (only type, properties and required at the top).
// Mistral: takes JSON Schema.
import { isJsonObject } from "../../src/contract/json.ts";

type Schema = Readonly<Record<string, unknown>>;

export interface Dialect {
  readonly name: string;
  /** Makes the changes that hosts make. */
  readonly convert: (root: Schema) => Schema;
  /** Returns the parts that the API refuses. */
  readonly findProblems: (root: Schema) => readonly string[];
}

const toSchema = (value: unknown): Schema => (isJsonObject(value) ? value : {});

const nestedIn = ({ properties, items }: Schema): readonly Schema[] => [
  ...Object.values(toSchema(properties)).map(toSchema),
  ...(items === undefined ? [] : [toSchema(items)]),
];

const schemasIn = (schema: Schema): readonly Schema[] => [schema, ...nestedIn(schema).flatMap(schemasIn)];

/** Changes a schema and all nested schemas. */
function mapSchemas(schema: Schema, change: (schema: Schema) => Schema): Schema {
  const { properties, items } = schema;
  return change({
    ...schema,
    ...(isJsonObject(properties) && {
      properties: Object.fromEntries(
        Object.entries(properties).map(([name, each]) => [name, mapSchemas(toSchema(each), change)]),
      ),
    }),
    ...(items !== undefined && { items: mapSchemas(toSchema(items), change) }),
  });
}

const omit =
  (...keywords: readonly string[]) =>
  (schema: Schema): Schema =>
    Object.fromEntries(Object.entries(schema).filter(([keyword]) => !keywords.includes(keyword)));

const isObject = ({ type }: Schema): boolean => type === "object" || (Array.isArray(type) && type.includes("object"));
const propertyNames = ({ properties }: Schema): readonly string[] => Object.keys(toSchema(properties));
const requiredNames = ({ required }: Schema): readonly unknown[] => (Array.isArray(required) ? required : []);

/** Returns the texts of the rules that some nested schema breaks. */
const check =
  (...rules: readonly (readonly [problem: string, isBroken: (schema: Schema) => boolean])[]) =>
  (root: Schema): readonly string[] =>
    rules.filter(([, isBroken]) => schemasIn(root).some(isBroken)).map(([problem]) => problem);

const has =
  (...keywords: readonly string[]) =>
  (schema: Schema): boolean =>
    keywords.some((keyword) => keyword in schema);

const OPEN = [
  "an open object",
  (schema: Schema) => isObject(schema) && schema["additionalProperties"] !== false,
] as const;
const BOUNDS = ["minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems"];

/** An optional argument becomes a required one that may be null. */
function requireAll(schema: Schema): Schema {
  if (!isObject(schema) || schema["properties"] === undefined) return schema;
  const properties = Object.entries(toSchema(schema["properties"])).map(([name, value]) => {
    const part = toSchema(value);
    return [name, requiredNames(schema).includes(name) ? part : { ...part, type: [part["type"], "null"] }];
  });
  return { ...schema, properties: Object.fromEntries(properties), required: propertyNames(schema) };
}

export const DIALECTS: readonly Dialect[] = [
  {
    name: "OpenAI strict",
    convert: (root) => mapSchemas(root, requireAll),
    findProblems: check(OPEN, [
      "an optional property",
      (schema) => isObject(schema) && propertyNames(schema).some((name) => !requiredNames(schema).includes(name)),
    ]),
  },
  {
    name: "Gemini parameters",
    convert: (root) => (propertyNames(root).length === 0 ? {} : mapSchemas(root, omit("additionalProperties"))),
    findProblems: check(
      ["additionalProperties", has("additionalProperties")],
      ["an object without properties", (schema) => isObject(schema) && propertyNames(schema).length === 0],
    ),
  },
  { name: "Gemini parametersJsonSchema", convert: (root) => root, findProblems: () => [] },
  {
    name: "Anthropic strict",
    convert: (root) => mapSchemas(root, omit(...BOUNDS)),
    findProblems: check(OPEN, ["a bound", has(...BOUNDS)]),
  },
  {
    name: "Bedrock Nova",
    convert: ({ type, properties, required }) => ({ type, properties, ...(required !== undefined && { required }) }),
    findProblems: (root) =>
      Object.keys(root).filter((keyword) => !["type", "properties", "required"].includes(keyword)),
  },
  { name: "Mistral", convert: (root) => root, findProblems: () => [] },
];
