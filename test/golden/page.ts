// Writes one tool's page, for people who review what agents read.
import { countTokens } from "gpt-tokenizer/encoding/o200k_base";

export interface Seen {
  readonly state: string;
  readonly tool: string;
  readonly arguments: Readonly<Record<string, unknown>>;
  readonly isError: boolean;
  readonly text: string;
  readonly structured: unknown;
  /** What its blocks behind the text link to. */
  readonly links: readonly string[];
  /** Without what every answer has. */
  readonly meta: Readonly<Record<string, unknown>>;
}

const WIDTH = 120;
/** Objects that are nested deeper than this are on one line. */
const DEPTH = 3;
/** Items of a list and rows of a table that are shown, if there are more than one above it. */
const SHOWN = 2;

/** JSON with a line for each part that fits into one; `name` comes first on its line. Of a long list, the first items. */
function pretty(value: unknown, depth = 0, name = ""): string {
  const line = name + JSON.stringify(value);
  const indent = "  ".repeat(depth);
  if (typeof value !== "object" || value === null || indent.length + line.length < WIDTH || depth > DEPTH) return line;
  const isList = Array.isArray(value);
  const parts = isList
    ? value.map((item) => pretty(item, depth + 1))
    : Object.entries(value).map(([key, item]) => pretty(item, depth + 1, `${JSON.stringify(key)}: `));
  const shown = isList ? firstOf(parts, "items") : parts;
  return `${name}${isList ? "[" : "{"}\n${shown.map((part) => `${indent}  ${part}`).join("\n")}\n${indent}${isList ? "]" : "}"}`;
}

const firstOf = (parts: readonly string[], noun: string): readonly string[] =>
  parts.length > SHOWN + 1 ? [...parts.slice(0, SHOWN), `… ${parts.length - SHOWN} more ${noun}`] : parts;

/** The text with the first rows of each table. */
function abridged(text: string): string {
  const runs: string[][] = [];
  let columns = 0;
  for (const line of text.split("\n")) {
    const tabs = line.split("\t").length - 1;
    const run = runs.at(-1);
    if (run && tabs > 0 && tabs === columns) run.push(line);
    else runs.push([line]);
    columns = tabs;
  }
  // The first line of a run is the table's head.
  return runs.flatMap(([head = "", ...rows]) => [head, ...firstOf(rows, "rows")]).join("\n");
}

function fenced(language: string, content: string): string {
  const longest = Math.max(2, ...[...content.matchAll(/`+/g)].map(([ticks]) => ticks.length));
  const fence = "`".repeat(longest + 1);
  return `${fence}${language}\n${content}\n${fence}`;
}

/** Without the spaces, as it is sent. */
const tokensOf = (value: unknown): string =>
  countTokens(typeof value === "string" ? value : JSON.stringify(value)).toLocaleString("en");

function section({ state, tool, arguments: args, isError, text, structured, links, meta }: Seen): string {
  const facts = [
    `${tokensOf(text)} tokens`,
    ...(isError ? ["an error"] : []),
    ...(structured === undefined ? [] : [`structuredContent ${tokensOf(structured)} tokens`]),
    ...links,
    ...Object.entries(meta).map(([name, fact]) => `${name} ${JSON.stringify(fact)}`),
  ];
  return `## ${state}\n${fenced("text", `> ${tool} ${JSON.stringify(args)}\n< ${facts.join(", ")}\n${abridged(text)}`)}`;
}

/** Each state's call, text and facts; the structuredContent of the first state that has one. */
export function pageOf(tool: string, seen: readonly Seen[]): string {
  const whole = seen.find(({ structured }) => structured !== undefined);
  return `${[
    `# ${tool}`,
    "What an agent reads, state by state: `>` the call, `<` the facts of its result, then the text. Made by `npm run fix`; tokens are o200k.",
    ...seen.map(section),
    ...(whole ? [`## structuredContent of "${whole.state}"\n${fenced("text", pretty(whole.structured))}`] : []),
  ].join("\n\n")}\n`;
}
