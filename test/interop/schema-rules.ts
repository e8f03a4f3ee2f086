// Checks a listed tool against the strictest rule of each model API. A host passes a listed tool on to one of these APIs, and an API that
// refuses one schema refuses the whole request.
// OpenAI: https://platform.openai.com/docs/api-reference/chat/create (names, 128 tools), https://github.com/getsentry/sentry-mcp/issues/106
//   (descriptions), https://github.com/nspady/google-calendar-mcp/issues/39 (no combination at the top), and for strict mode
//   https://platform.openai.com/docs/guides/structured-outputs (depth, counts, closed objects).
// Gemini: https://cloud.google.com/vertex-ai/generative-ai/docs/reference/rest/v1/Schema (keywords),
//   https://cloud.google.com/vertex-ai/docs/reference/rest/v1beta1/FunctionDeclaration (names),
//   https://firebase.google.com/docs/reference/js/ai.schemashared (formats, text enums).
// Anthropic: https://platform.claude.com/docs/en/agents-and-tools/tool-use/define-tools (names),
//   https://github.com/anthropics/claude-code/issues/5973 (no combination at the top). Claude Code calls a tool mcp__<server>__<tool>.
import { isJsonObject } from "../../src/contract/json.ts";
import type { ListedTool } from "../support/mcp.ts";

const TOOL_NAME = /^(?!.*__)[a-zA-Z_][a-zA-Z0-9_-]{0,53}$/;
const ARGUMENT_NAME = /^[a-zA-Z_][a-zA-Z0-9_]{0,63}$/;
export const MAX_TOOLS = 128;
const MAX_DESCRIPTION = 1_024;
const MAX_DEPTH = 10;
const MAX_PROPERTIES = 5_000;
const MAX_ENUM_VALUES = 1_000;
const MAX_CHARACTERS = 120_000;
const TYPES = ["object", "array", "string", "integer", "number", "boolean"];
const FORMATS = ["date-time"];
/** Supported keywords: without anyOf, oneOf, allOf, not, const, $ref, nullable and default. */
const KEYWORDS = [
  ...["type", "description", "properties", "required", "items", "enum", "pattern", "format", "additionalProperties"],
  ...["minimum", "maximum", "minItems", "maxItems", "minLength", "maxLength"],
];

type Schema = Readonly<Record<string, unknown>>;

interface SchemaLocation {
  readonly path: string;
  readonly depth: number;
  readonly schema: Schema;
}

const toObject = (value: unknown): Schema => (isJsonObject(value) ? value : {});
const toList = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

/** The schema and all nested schemas. */
function collectSchemas(schema: Schema, path: string, depth: number): readonly SchemaLocation[] {
  const nestedSchemas = Object.entries(toObject(schema["properties"])).flatMap(([name, each]) =>
    collectSchemas(toObject(each), `${path}/${name}`, depth + 1),
  );
  const items = "items" in schema ? collectSchemas(toObject(schema["items"]), `${path}/[]`, depth) : [];
  return [{ path, depth, schema }, ...nestedSchemas, ...items];
}

const isOneOf = (known: readonly string[], value: unknown): boolean =>
  typeof value === "string" && known.includes(value);

function schemaProblems({ path, schema, depth }: SchemaLocation): readonly string[] {
  const { type, format, required, additionalProperties, items } = schema;
  const names = Object.keys(toObject(schema["properties"]));
  const rules: readonly (readonly [ok: boolean, problem: string])[] = [
    ...Object.keys(schema).map((keyword) => [KEYWORDS.includes(keyword), `${keyword} is not known`] as const),
    [isOneOf(TYPES, type), `type ${JSON.stringify(type)} is not known`],
    [depth > 1 || type === "object", "is not an object"],
    [format === undefined || isOneOf(FORMATS, format), `format ${format} is not known`],
    [type !== "array" || isJsonObject(items), "has no schema for its items"],
    [toList(schema["enum"]).every((value) => typeof value === "string"), "has an enum of other values than texts"],
    ...names.map((name) => [ARGUMENT_NAME.test(name), `${name} is not a name for an argument`] as const),
    ...toList(required).map((name) => [isOneOf(names, name), `${name} is required and not there`] as const),
    [type !== "object" || additionalProperties === false, "is open to any field"],
  ];
  return rules.flatMap(([ok, problem]) => (ok ? [] : [`${path}: ${problem}`]));
}

/** Problems that an API would refuse, as `tool/argument: problem`. */
export function findProblems({ name, description = "", inputSchema }: ListedTool): readonly string[] {
  const all = collectSchemas(inputSchema, name, 1);
  const enums = all.flatMap(({ schema }) => toList(schema["enum"]));
  const names = all.flatMap(({ schema }) => Object.keys(toObject(schema["properties"])));
  const limits: readonly (readonly [ok: boolean, problem: string])[] = [
    [TOOL_NAME.test(name), "is not a name for a tool"],
    [description.length > 0, "has no description"],
    [description.length <= MAX_DESCRIPTION, "has a description that is too long"],
    [Math.max(...all.map(({ depth }) => depth)) <= MAX_DEPTH, "is nested too deeply"],
    [names.length <= MAX_PROPERTIES, "has too many properties"],
    [enums.length <= MAX_ENUM_VALUES, "has too many values in its enums"],
    [[...names, ...enums].join("").length <= MAX_CHARACTERS, "has names and values that are too long"],
  ];
  return [...limits.flatMap(([ok, problem]) => (ok ? [] : [`${name}: ${problem}`])), ...all.flatMap(schemaProblems)];
}
