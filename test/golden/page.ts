// One tool's page, for people who review what agents read.
import { countTokens } from "gpt-tokenizer/encoding/o200k_base";

export interface Seen {
  readonly state: string;
  readonly tool: string;
  readonly arguments: unknown;
  readonly isError: boolean;
  readonly text: string;
  readonly structured: unknown;
  /** What its blocks behind the text link to. */
  readonly links: readonly string[];
  /** Without what every answer has. */
  readonly meta: Readonly<Record<string, unknown>>;
}

const WIDTH = 120;

/** JSON with a line for each thing that fits into one; `name` stands before it on its line. */
function pretty(value: unknown, indent = "", name = ""): string {
  const line = spaced(value);
  const isShort = indent.length + name.length + line.length < WIDTH;
  if (typeof value !== "object" || value === null || isShort) return name + line;
  const deeper = `${indent}  `;
  const [open, close] = Array.isArray(value) ? ["[", "]"] : ["{", "}"];
  const parts = Array.isArray(value)
    ? value.map((item) => pretty(item, deeper))
    : Object.entries(value).map(([key, item]) => pretty(item, deeper, `${JSON.stringify(key)}: `));
  return `${name}${open}\n${parts.map((part) => deeper + part).join(",\n")}\n${indent}${close}`;
}

/** JSON on one line, with a space behind commas and colons. */
function spaced(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(spaced).join(", ")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const parts = Object.entries(value).map(([name, item]) => `${JSON.stringify(name)}: ${spaced(item)}`);
  return parts.length === 0 ? "{}" : `{ ${parts.join(", ")} }`;
}

function fenced(language: string, content: string): string {
  const longest = Math.max(2, ...[...content.matchAll(/`+/g)].map(([ticks]) => ticks.length));
  const fence = "`".repeat(longest + 1);
  return `${fence}${language}\n${content}\n${fence}`;
}

const anchorOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N} _-]/gu, "")
    .replaceAll(" ", "-");

/** As it crosses the wire: without the spaces. */
const weigh = (value: unknown): number =>
  value === undefined ? 0 : countTokens(typeof value === "string" ? value : JSON.stringify(value));

function section({ state, tool, arguments: args, isError, text, structured, links, meta }: Seen): string {
  const call = fenced("", pretty(args, "", `${tool} `));
  const said = `${isError ? "Fails. The text" : "The text"}, ${weigh(text)} tokens:\n\n${fenced("text", text)}`;
  const data =
    structured === undefined
      ? []
      : [`structuredContent, ${weigh(structured)} tokens:\n\n${fenced("json", pretty(structured))}`];
  const linked = links.length === 0 ? [] : [`It links to ${links.map((link) => `\`${link}\``).join(", ")}.`];
  const facts = Object.keys(meta).length === 0 ? [] : [`\`_meta\`:\n\n${fenced("json", pretty(meta))}`];
  return [`## ${state}`, call, said, ...data, ...linked, ...facts].join("\n\n");
}

const number = (count: number): string => (count === 0 ? "" : count.toLocaleString("en"));

export function pageOf(tool: string, seen: readonly Seen[]): string {
  const rows = seen.map(
    ({ state, text, structured }) =>
      `| [${state}](#${anchorOf(state)}) | ${number(weigh(text))} | ${number(weigh(structured))} |`,
  );
  return `${[
    `# ${tool}`,
    "What an agent is given, whole. Made by `npm run fix`; the weights are o200k tokens.",
    ["| state | text | structuredContent |", "|---|--:|--:|", ...rows].join("\n"),
    ...seen.map(section),
  ].join("\n\n")}\n`;
}
