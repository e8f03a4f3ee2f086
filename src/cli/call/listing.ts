// What a person is told of the tools: all in a line each, and of one what it takes.
import { isJsonObject } from "../../contract/json.ts";
import type { JsonSchema } from "../../contract/json-schema.ts";
import type { ToolFacts } from "../../toolkit/define-tool.ts";
import { columns } from "../command-line/columns.ts";

const firstSentence = (text: string): string => text.split(/(?<=\.) /)[0] ?? text;

/** `tools`: those that are offered here. */
export function listingText(tools: readonly ToolFacts[]): string {
  const toolsets = [...new Set(tools.map(({ toolset }) => toolset))];
  const parts = toolsets.map((toolset) => {
    const rows = tools.filter((tool) => tool.toolset === toolset);
    return `${toolset}:\n${columns(rows.map(({ name, description }) => [name, firstSentence(description)] as const))}`;
  });
  return [...parts, "mic-mcp call TOOL --help shows what a tool takes."].join("\n\n");
}

const isText = (value: unknown): value is string => typeof value === "string";

/** The arguments of a tool that must be given. */
export const requiredOf = ({ required }: JsonSchema): readonly string[] =>
  Array.isArray(required) ? required.filter(isText) : [];

/** The arguments of a tool, each with its schema. */
export const argumentsOf = ({ properties }: JsonSchema): readonly (readonly [name: string, schema: JsonSchema])[] =>
  Object.entries(isJsonObject(properties) ? properties : {}).map(([name, schema]) => [
    name,
    isJsonObject(schema) ? schema : {},
  ]);

/** The values that an argument takes, where they are few; of a list those of its items. */
export function choicesOf(schema: JsonSchema): readonly string[] {
  const { type, items, enum: choices } = schema;
  if (type === "boolean") return ["true", "false"];
  if (type === "array" && isJsonObject(items)) return choicesOf(items);
  return Array.isArray(choices) ? choices.filter(isText) : [];
}

function boundsOf({ minimum, maximum }: JsonSchema): string {
  if (minimum !== undefined && maximum !== undefined) return `${minimum} to ${maximum}`;
  return minimum === undefined ? "" : `${minimum} or more`;
}

function kindOf(schema: JsonSchema): string {
  const { type, items, format } = schema;
  const choices = choicesOf(schema).join(", ");
  if (type === "array") {
    const isOfObjects = isJsonObject(items) && items["type"] === "object";
    return isOfObjects
      ? `JSON list of {${argumentsOf(items)
          .map(([name]) => name)
          .join(", ")}}`
      : `list ${choices}`.trim();
  }
  if (type === "object") return "JSON object";
  if (type === "integer" || type === "number") return `number ${boundsOf(schema)}`.trim();
  return choices === "" ? (isText(format) ? format : "text") : choices;
}

/** `hasWorkspace`: there is a default one. */
export function toolText(tool: ToolFacts, hasWorkspace: boolean): string {
  const schema = tool.inputSchema();
  const required = requiredOf(schema).filter((name) => name !== "workspaceId" || !hasWorkspace);
  const rows = argumentsOf(schema).map(([name, each]) => {
    const about = isText(each["description"]) ? ` ${each["description"]}` : "";
    return [`${name}=`, `${kindOf(each)}.${required.includes(name) ? " Required." : ""}${about}`] as const;
  });
  const needed = required.map((name) => ` ${name}=…`).join("");
  return [
    `mic-mcp call ${tool.name}${needed}`,
    tool.description,
    rows.length === 0 ? "It takes no arguments." : columns(rows),
  ].join("\n\n");
}
