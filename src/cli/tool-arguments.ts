// Parses tool arguments from NAME=VALUE and JSON, lists them in help texts, and formats a tool call as a command.

import { isJsonObject, type JsonSchema, schemaOf } from "../contract/json.ts";
import { UsageError } from "../core/config.ts";
import type { Tool } from "../toolkit/define-tool.ts";
import { parseExactJson } from "../toolkit/exact-json.ts";
import { didYouMean } from "./errors.ts";
import { formatColumns } from "./help.ts";
import { FREE_TEXT_LISTS } from "./terminal-reader.ts";

type Arguments = Record<string, unknown>;

const isText = (value: unknown): value is string => typeof value === "string";

export function parseInputFlag(text: string | undefined): Arguments {
  if (text === undefined) return {};
  const object = parseExactJson(text);
  if (!isJsonObject(object)) throw new UsageError("--input must be a JSON object.");
  return { ...object };
}

function parseListItems(name: string, text: string, items: JsonSchema): readonly unknown[] {
  if (text.startsWith("[")) {
    const list = parseExactJson(text);
    if (!Array.isArray(list)) throw new UsageError(`${name} must be a JSON list, or values separated by commas.`);
    return list;
  }
  if (items["type"] !== "string") return [text];
  return text.split(FREE_TEXT_LISTS.has(name) ? /,(?!\s)/ : ",");
}

/** Throws UsageError if the schema lists the accepted values and this is not one of them; case is ignored. */
function checkEnumValue(name: string, value: unknown, schema: JsonSchema): void {
  const accepted = enumValuesOf(schema);
  if (typeof value !== "string" || accepted.length === 0) return;
  const lower = value.trim().toLowerCase();
  if (!accepted.some((each) => each.toLowerCase() === lower))
    throw new UsageError(`${name} must be one of ${accepted.join(", ")}.${didYouMean(value, accepted)}`);
}

/** The argument that a value without a name sets: the first required one, or else the first. */
export function mainArgumentOf(schema: JsonSchema): string | undefined {
  const names = Object.keys(schemaOf(schema["properties"])).filter((name) => name !== "workspaceId");
  const required = requiredArguments(schema);
  return names.find((name) => required.includes(name)) ?? names[0];
}

const NAMED_VALUE = /^(\w+)=([\s\S]*)$/;

const FLAG = /^--([a-z][\w-]*)(?:=([\s\S]*))?$/i;

/** Converts --NAME VALUE and --NAME=VALUE to NAME=VALUE; kebab case is accepted, and a boolean needs no value. Throws UsageError. */
function joinFlags(words: readonly string[], schema: JsonSchema, toExact: Tool["toExact"]): readonly string[] {
  const properties = schemaOf(schema["properties"]);
  const joined: string[] = [];
  for (let at = 0; at < words.length; at++) {
    const word = words[at] ?? "";
    const [, flag, text] = FLAG.exec(word) ?? [];
    if (flag === undefined) {
      joined.push(word);
      continue;
    }
    const name = flag.replace(/-+(\w)/g, (_, letter: string) => letter.toUpperCase());
    const [argument = name] = Object.keys(toExact({ [name]: text ?? "" }).arguments);
    const names = Object.keys(properties);
    if (!names.includes(argument)) {
      // In other programs, the flag is --output json.
      const typed = name === "output" || name === "format" ? "json" : name;
      const suggestion = didYouMean(typed, [...names, "json", "input", "emulator"], (each) => `--${each}`);
      throw new UsageError(`--${flag} is neither a flag nor an argument of this tool.${suggestion}`);
    }
    const next = words[at + 1];
    const isSwitch = schemaOf(properties[argument])["type"] === "boolean" && !/^(true|false)$/i.test(next ?? "");
    if (text === undefined && !isSwitch && (next === undefined || FLAG.test(next)))
      throw new UsageError(`--${flag} needs a value.`);
    if (text === undefined && !isSwitch) at += 1;
    joined.push(`${name}=${text ?? (isSwitch ? "true" : next)}`);
  }
  return joined;
}

/** Returns the name as typed, so that the tool can state which argument it stands for, and that `argument`. Throws UsageError. */
function parseWord(word: string, schema: JsonSchema, toExact: Tool["toExact"]) {
  const [, typed, text = ""] = NAMED_VALUE.exec(word) ?? [];
  const names = Object.keys(schemaOf(schema["properties"]));
  if (typed !== undefined) {
    // The tool accepts some other names of an argument.
    const [argument = typed] = Object.keys(toExact({ [typed]: text }).arguments);
    if (names.includes(argument)) return { name: typed, argument, text };
    const accepted = names.length === 0 ? "The tool has no arguments." : `Arguments: ${names.join(", ")}.`;
    throw new UsageError(
      `${JSON.stringify(typed)} is not an argument of this tool.${didYouMean(typed, names)} ${accepted}`,
    );
  }
  if (word.startsWith("{")) throw new UsageError("A JSON object of arguments must follow --input.");
  const main = mainArgumentOf(schema);
  if (main === undefined) throw new UsageError(`${JSON.stringify(word)} cannot be used. The tool has no arguments.`);
  return { name: main, argument: main, text: word };
}

/** A word without a name is a value of the main argument. Several values form a list if the schema has a list. Throws UsageError. */
export function parseArgumentWords(
  words: readonly string[],
  { inputSchema, toExact }: Pick<Tool, "inputSchema" | "toExact">,
): Arguments {
  const schema = inputSchema();
  const properties = schemaOf(schema["properties"]);
  const args = new Map<string, unknown>();
  for (const word of joinFlags(words, schema, toExact)) {
    const { name, argument, text } = parseWord(word, schema, toExact);
    const field = schemaOf(properties[argument]);
    const before = args.get(name);
    if (field["type"] === "array") {
      const items = parseListItems(argument, text, schemaOf(field["items"]));
      for (const item of items) checkEnumValue(name, item, field);
      args.set(name, [...(Array.isArray(before) ? before : []), ...items]);
      continue;
    }
    if (before !== undefined) throw new UsageError(`${name} is specified twice.`);
    checkEnumValue(name, text, field);
    args.set(name, text);
  }
  return Object.fromEntries(args);
}

export const firstSentence = (text: string): string => text.split(/(?<=\.) /)[0] ?? text;

export function formatToolList(tools: readonly Tool[]): string {
  const toolsets = [...new Set(tools.map((tool) => tool.toolsets.join(" and ")))];
  const parts = toolsets.map((toolset) => {
    const rows = tools.filter((tool) => tool.toolsets.join(" and ") === toolset);
    return `${toolset}:\n${formatColumns(rows.map(({ name, description }) => [name, firstSentence(description)] as const))}`;
  });
  return [...parts, "Run mic-mcp call TOOL --help for the arguments of a tool."].join("\n\n");
}

const requiredArguments = ({ required }: JsonSchema): readonly string[] =>
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
export function formatToolHelp(tool: Tool, hasWorkspace: boolean): string {
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
