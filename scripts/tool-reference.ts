// Formats the reference of the tools for users: each tool with its parameters, from the schemas, and one example, from test/snapshots/.
import { readFile } from "node:fs/promises";
import * as z from "zod/v4";
import { tools } from "../tools/index.ts";
import { shortenLine } from "./shorten-line.ts";

type Tool = (typeof tools)[number];

const Schema = z.looseObject({
  type: z.string().optional(),
  description: z.string().optional(),
  enum: z.array(z.string()).optional(),
  format: z.string().optional(),
  maximum: z.number().optional(),
  items: z.looseObject({}).optional(),
  properties: z.record(z.string(), z.looseObject({})).optional(),
  required: z.array(z.string()).optional(),
});

/** Meanings of arguments that the schemas leave to their names. */
const MEANINGS: Readonly<Record<string, string>> = {
  workspaceId: "Default: the configured workspace.",
  view: "`summary` (default), or `full` for every field that the API returns.",
  limit: "Maximum number of rows.",
  cursor: "`page.nextCursor` of the previous page.",
  reason: "Why; stored with the job.",
  createdSince: "Only jobs created at this time or later.",
  states: "Only these states.",
};

const EXAMPLE_LINES = 8;
const MAX_COLUMNS = 151;

export const escapeTableCell = (text: string): string => text.replaceAll("|", "\\|");

/** Returns the type of a value in a few words: `integer, at most 45`, `list of objects {port, inputId}`. */
function formatType(value: unknown): string {
  const { type = "", enum: values, format, maximum, items, properties } = Schema.parse(value);
  if (values !== undefined) return values.map((each) => `\`${each}\``).join(", ");
  if (type === "array") return `list of ${items === undefined ? "values" : formatType(items)}`;
  if (properties !== undefined) return `objects {${Object.keys(properties).join(", ")}}`;
  return [format ?? type, ...(maximum === undefined ? [] : [`at most ${maximum}`])].join(", ");
}

function formatParameters(tool: Tool): string {
  const { properties = {}, required = [] } = Schema.parse(tool.inputSchema());
  const rows = Object.entries(properties).map(([name, property]) => {
    const meaning = Schema.parse(property).description ?? MEANINGS[name] ?? "";
    const isRequired = required.includes(name) && name !== "workspaceId";
    return `| \`${name}\`${isRequired ? " (required)" : ""} | ${escapeTableCell(formatType(property))} | ${escapeTableCell(meaning)} |`;
  });
  return rows.length === 0 ? "No parameters." : `| parameter | type | meaning |\n|---|---|---|\n${rows.join("\n")}`;
}

/** The first state of the tool's snapshot as a code block. A new tool has no snapshot until `npm run fix` has made one. */
async function formatExample(name: string): Promise<string> {
  const page = await readFile(`test/snapshots/${name}.md`, "utf8").catch(() => "");
  const [, example = ""] = /^`{3,}text\n([\s\S]*?)\n`{3,}$/m.exec(page) ?? [];
  const lines = example.split("\n").filter((line) => !line.startsWith("< "));
  const shown = lines.slice(0, EXAMPLE_LINES).map((line) => shortenLine(line, MAX_COLUMNS));
  return `\`\`\`text\n${[...shown, ...(lines.length > EXAMPLE_LINES ? ["…"] : [])].join("\n")}\n\`\`\``;
}

async function formatTool(tool: Tool): Promise<string> {
  const { name, description, endpoint, view } = tool;
  const facts = [
    ...(endpoint === undefined ? [] : [`Operation \`${endpoint.id}\`.`]),
    ...(view === undefined ? [] : ["Only for clients that show views."]),
  ];
  return [
    `### ${name}`,
    [description, ...facts].join(" "),
    formatParameters(tool),
    ...(view === undefined ? [await formatExample(name)] : []),
  ].join("\n\n");
}

const GROUPS: readonly (readonly [string, (tool: Tool) => boolean])[] = [
  ["Jobs", ({ toolsets, view }) => toolsets.includes("jobs") && view === undefined],
  ["Geography", ({ toolsets, view }) => !toolsets.includes("jobs") && view === undefined],
  ["Views", ({ view }) => view !== undefined],
];

/** Returns the sections of docs/use/tools.md. */
export async function formatToolReference(): Promise<string> {
  const groups = GROUPS.map(async ([heading, has]) =>
    [`## ${heading}`, ...(await Promise.all(tools.filter(has).map(formatTool)))].join("\n\n"),
  );
  return (await Promise.all(groups)).join("\n\n");
}
