// Parses tool arguments from NAME=VALUE and JSON, lists them in help texts, and formats a tool call as a command.

import { isJsonObject, parseJson } from "../contract/json.ts";
import { type JsonSchema, schemaOf } from "../contract/json-schema.ts";
import { UsageError } from "../core/config.ts";
import { escapeText } from "../core/untrusted-text.ts";
import type { ToolFacts } from "../toolkit/define-tool.ts";
import { didYouMean } from "./errors.ts";
import { formatColumns } from "./help.ts";

type Arguments = Record<string, unknown>;

const createValueError = (name: string, takes: string): UsageError => new UsageError(`${name} must be ${takes}.`);

/** Parses a word of the command line as a value of this schema; the tool checks bounds. Throws UsageError. */
function parseValue(name: string, text: string, schema: JsonSchema): unknown {
  switch (schema["type"]) {
    case "integer":
    case "number":
      if (!/^-?\d+(\.\d+)?$/.test(text)) throw createValueError(name, "a number");
      return Number(text);
    case "boolean":
      if (text !== "true" && text !== "false") throw createValueError(name, "true or false");
      return text === "true";
    case "array": {
      if (!text.startsWith("[")) return [parseValue(name, text, schemaOf(schema["items"]))];
      const list = parseJson(text);
      if (!Array.isArray(list))
        throw createValueError(name, "a JSON list, or one value for each repetition of the name");
      return list;
    }
    case "object": {
      const object = parseJson(text);
      if (!isJsonObject(object)) throw createValueError(name, "a JSON object");
      return object;
    }
    default:
      return text;
  }
}

/** Parses the value of the flag --json. Throws UsageError if it is not a JSON object. */
export function parseJsonArguments(text: string | undefined): Arguments {
  if (text === undefined) return {};
  const object = parseJson(text);
  if (!isJsonObject(object)) throw new UsageError("--json must be a JSON object.");
  return { ...object };
}

/** Parses `pairs` of the form NAME=VALUE. Several values of one name form a list if the schema has a list. Throws UsageError. */
export function parseArgumentPairs(pairs: readonly string[], schema: JsonSchema): Arguments {
  const properties = schemaOf(schema["properties"]);
  const args = new Map<string, unknown>();
  for (const pair of pairs) {
    const [name = "", ...rest] = pair.split("=");
    if (rest.length === 0) throw new UsageError(`${JSON.stringify(pair)} does not have the form NAME=VALUE.`);
    if (!Object.hasOwn(properties, name)) {
      const names = Object.keys(properties);
      const accepted = names.length === 0 ? "The tool has no arguments." : `Arguments: ${names.join(", ")}.`;
      throw new UsageError(
        `${JSON.stringify(name)} is not an argument of this tool.${didYouMean(name, names)} ${accepted}`,
      );
    }
    const value = parseValue(name, rest.join("="), schemaOf(properties[name]));
    const before = args.get(name);
    if (before !== undefined && !Array.isArray(before)) throw new UsageError(`${name} is specified twice.`);
    args.set(name, Array.isArray(before) ? [...before, ...[value].flat()] : value);
  }
  return Object.fromEntries(args);
}

const firstSentence = (text: string): string => text.split(/(?<=\.) /)[0] ?? text;

/** Lists the offered `tools` by toolset, each with the first sentence of its description. */
export function formatToolList(tools: readonly ToolFacts[]): string {
  const toolsets = [...new Set(tools.map((tool) => tool.toolsets.join(" and ")))];
  const parts = toolsets.map((toolset) => {
    const rows = tools.filter((tool) => tool.toolsets.join(" and ") === toolset);
    return `${toolset}:\n${formatColumns(rows.map(({ name, description }) => [name, firstSentence(description)] as const))}`;
  });
  return [...parts, "Run mic-mcp call TOOL --help for the arguments of a tool."].join("\n\n");
}

const isText = (value: unknown): value is string => typeof value === "string";

export const requiredArguments = ({ required }: JsonSchema): readonly string[] =>
  Array.isArray(required) ? required.filter(isText) : [];

export const listArguments = ({ properties }: JsonSchema): readonly (readonly [name: string, schema: JsonSchema])[] =>
  Object.entries(schemaOf(properties)).map(([name, schema]) => [name, schemaOf(schema)]);

/** Returns the only values that an argument (or each item of a list) accepts. The list is empty if other values are accepted. */
export function enumValuesOf(schema: JsonSchema): readonly string[] {
  const { type, items, enum: values } = schema;
  if (type === "boolean") return ["true", "false"];
  if (type === "array" && isJsonObject(items)) return enumValuesOf(items);
  return Array.isArray(values) ? values.filter(isText) : [];
}

function formatBounds({ minimum, maximum }: JsonSchema): string {
  if (minimum !== undefined && maximum !== undefined) return `${minimum} to ${maximum}`;
  if (maximum !== undefined) return `up to ${maximum}`;
  return minimum === undefined ? "" : `${minimum} or more`;
}

function formatType(schema: JsonSchema): string {
  const { type, items, format } = schema;
  const values = enumValuesOf(schema).join(", ");
  if (type === "array") {
    const isOfObjects = isJsonObject(items) && items["type"] === "object";
    return isOfObjects
      ? `JSON list of {${listArguments(items)
          .map(([name]) => name)
          .join(", ")}}`
      : `list ${values}`.trim();
  }
  if (type === "object") return "JSON object";
  if (type === "integer" || type === "number") return `number ${formatBounds(schema)}`.trim();
  return values === "" ? (isText(format) ? format : "text") : values;
}

/** `hasWorkspace`: a default workspace is set, so workspaceId is optional. */
export function formatToolHelp(tool: ToolFacts, hasWorkspace: boolean): string {
  const schema = tool.inputSchema();
  const required = requiredArguments(schema).filter((name) => name !== "workspaceId" || !hasWorkspace);
  const rows = listArguments(schema).map(([name, each]) => {
    const about = isText(each["description"]) ? ` ${each["description"]}` : "";
    return [`${name}=`, `${formatType(each)}.${required.includes(name) ? " Required." : ""}${about}`] as const;
  });
  const needed = required.map((name) => ` ${name}=…`).join("");
  return [
    `mic-mcp call ${tool.name}${needed}`,
    tool.description,
    rows.length === 0 ? "The tool has no arguments." : formatColumns(rows),
  ].join("\n\n");
}

export const quoteForShell = (text: string): string =>
  /^[\w.:/=@%+-]*[\w/=@%+-]$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;

const toPairs = (name: string, value: unknown): readonly string[] => {
  if (Array.isArray(value) && value.every((each) => typeof each === "string" && !each.startsWith("[")))
    return value.map((each) => `${name}=${each}`);
  return [`${name}=${typeof value === "string" ? value : JSON.stringify(value)}`];
};

/**
 * Formats a tool call as a command that the user can copy. Untrusted ids, keys and reasons are quoted, so they cannot become commands, and
 * their invisible characters are shown as escapes.
 */
export function formatCallCommand(tool: string, args: Readonly<Record<string, unknown>>): string {
  const words = Object.entries(args).flatMap(([name, value]) => toPairs(name, value).map(quoteForShell));
  return escapeText(["mic-mcp call", tool, ...words].join(" "));
}
