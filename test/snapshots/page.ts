// Writes one tool's page, for people who review what agents read.
import { countTokens } from "gpt-tokenizer/encoding/o200k_base";
import { formatWideJson } from "../support/wide-json.ts";

export interface RecordedResult {
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

/** Objects in structuredContent that are nested deeper than this are on one line. */
const MAX_DEPTH = 3;
/** Items of a list and rows of a table that are shown, if there are more than one above it. */
const MAX_SHOWN = 2;

const truncateRows = (rows: readonly string[]): readonly string[] =>
  rows.length > MAX_SHOWN + 1 ? [...rows.slice(0, MAX_SHOWN), `… ${rows.length - MAX_SHOWN} more rows`] : rows;

/** The value with the first items of each list. */
function truncateLists(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (!Array.isArray(value))
    return Object.fromEntries(Object.entries(value).map(([name, part]) => [name, truncateLists(part)]));
  const isLong = value.length > MAX_SHOWN + 1;
  const items = (isLong ? value.slice(0, MAX_SHOWN) : value).map(truncateLists);
  return isLong ? [...items, `… ${value.length - MAX_SHOWN} more`] : items;
}

/** The text with the first rows of each table. */
function truncateTables(text: string): string {
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
  return runs.flatMap(([head = "", ...rows]) => [head, ...truncateRows(rows)]).join("\n");
}

function codeBlock(language: string, content: string): string {
  const longest = Math.max(2, ...[...content.matchAll(/`+/g)].map(([ticks]) => ticks.length));
  const fence = "`".repeat(longest + 1);
  return `${fence}${language}\n${content}\n${fence}`;
}

/** Without the spaces, as it is sent. */
const formatTokenCount = (value: unknown): string =>
  countTokens(typeof value === "string" ? value : JSON.stringify(value)).toLocaleString("en");

function renderSection({
  state,
  tool,
  arguments: args,
  isError,
  text,
  structured,
  links,
  meta,
}: RecordedResult): string {
  const facts = [
    `${formatTokenCount(text)} tokens`,
    ...(isError ? ["an error"] : []),
    ...(structured === undefined ? [] : [`structuredContent ${formatTokenCount(structured)} tokens`]),
    ...links,
    ...Object.entries(meta).map(([name, fact]) => `${name} ${JSON.stringify(fact)}`),
  ];
  return `## ${state}\n${codeBlock("text", `> ${tool} ${JSON.stringify(args)}\n< ${facts.join(", ")}\n${truncateTables(text)}`)}`;
}

/** Each state's call, text and facts; the structuredContent of the first state that has one. */
export function renderPage(tool: string, results: readonly RecordedResult[]): string {
  const example = results.find(({ structured }) => structured !== undefined);
  return `${[
    `# ${tool}`,
    "What an agent reads, state by state: `>` the call, `<` the facts of its result, then the text. Made by `npm run fix`; tokens are o200k.",
    ...results.map(renderSection),
    ...(example
      ? [
          `## structuredContent of "${example.state}"\n${codeBlock("json", formatWideJson(truncateLists(example.structured), MAX_DEPTH))}`,
        ]
      : []),
  ].join("\n\n")}\n`;
}
