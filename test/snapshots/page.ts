// Renders the page of one tool, for reviewers of the texts that agents read.
import { countTokens } from "../support/count-tokens.ts";
import { formatWideJson } from "../support/wide-json.ts";

export interface RecordedResult {
  readonly state: string;
  readonly tool: string;
  readonly arguments: Readonly<Record<string, unknown>>;
  readonly isError: boolean;
  readonly text: string;
  readonly structured: unknown;
  /** URIs (or types) of the content blocks after the text. */
  readonly links: readonly string[];
  /** Metadata of the result, without the entries that every result has. */
  readonly meta: Readonly<Record<string, unknown>>;
}

/** Objects in structuredContent that are nested deeper than this are on one line. */
const MAX_DEPTH = 3;
/** Number of list items or table rows that are shown if at least two more follow. */
const MAX_SHOWN = 2;

const truncateRows = (rows: readonly string[]): readonly string[] =>
  rows.length > MAX_SHOWN + 1 ? [...rows.slice(0, MAX_SHOWN), `… ${rows.length - MAX_SHOWN} more rows`] : rows;

function truncateLists(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (!Array.isArray(value))
    return Object.fromEntries(Object.entries(value).map(([name, part]) => [name, truncateLists(part)]));
  const isLong = value.length > MAX_SHOWN + 1;
  const items = (isLong ? value.slice(0, MAX_SHOWN) : value).map(truncateLists);
  return isLong ? [...items, `… ${value.length - MAX_SHOWN} more`] : items;
}

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
  // The first line of a run is the table's header.
  return runs.flatMap(([head = "", ...rows]) => [head, ...truncateRows(rows)]).join("\n");
}

function codeBlock(language: string, content: string): string {
  const longest = Math.max(2, ...[...content.matchAll(/`+/g)].map(([ticks]) => ticks.length));
  const fence = "`".repeat(longest + 1);
  return `${fence}${language}\n${content}\n${fence}`;
}

/** Number of tokens of the value as it is sent, without spaces. */
const formatTokenCount = (value: unknown): string =>
  countTokens(typeof value === "string" ? value : JSON.stringify(value)).toLocaleString("en");

/** The id of a response is different in each, and no model reads the data of a view. */
function metaFacts(name: string, fact: unknown): readonly string[] {
  if (name === "mic-mcp/requestId") return [];
  return [`${name} ${name === "mic-mcp/view" ? `${formatTokenCount(fact)} tokens` : JSON.stringify(fact)}`];
}

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
    ...Object.entries(meta).flatMap(([name, fact]) => metaFacts(name, fact)),
  ];
  return `## ${state}\n${codeBlock("text", `> ${tool} ${JSON.stringify(args)}\n< ${facts.join(", ")}\n${truncateTables(text)}`)}`;
}

/** The result without what differs each time: the tool's name, ids and keys. */
const withoutIds = ({ isError, text, structured, links, meta }: RecordedResult): string =>
  JSON.stringify([isError, text.replace(/^\w+(?= failed \()/, ""), structured, links, meta])
    .replace(/\b(mic\w*[_-])[0-9a-f]{32}\b/g, "$1…")
    .replace(/(idempotencyKey\W+)[\w-]+…?/g, "$1…");

/**
 * Renders the call, text and facts of each state, and the structuredContent of the first state that has one. A result that differs only
 * in names, ids and keys from one that this page or `earlier` pages show is named, not shown again.
 */
export function renderPage(
  tool: string,
  results: readonly RecordedResult[],
  earlier: readonly RecordedResult[] = [],
): string {
  const shown = new Map(earlier.map((result) => [withoutIds(result), `"${result.state}" of ${result.tool}`]));
  const sections: string[] = [];
  const repeated: string[] = [];
  for (const result of results) {
    const same = shown.get(withoutIds(result));
    if (same === undefined) {
      sections.push(renderSection(result));
      shown.set(withoutIds(result), `"${result.state}"`);
    } else repeated.push(`- ${result.state}: like ${same}`);
  }
  const example = results.find(({ structured }) => structured !== undefined);
  return `${[
    `# ${tool}`,
    "What an agent reads, state by state: `>` the call, `<` the facts of its result, then the text. Made by `npm run fix`; tokens are o200k.",
    ...sections,
    ...(repeated.length > 0 ? [`## Results that are shown already\n${repeated.join("\n")}`] : []),
    ...(example
      ? [
          `## structuredContent of "${example.state}"\n${codeBlock("json", formatWideJson(truncateLists(example.structured), MAX_DEPTH))}`,
        ]
      : []),
  ].join("\n\n")}\n`;
}
