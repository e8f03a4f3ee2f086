// Generates the tables of README.md, docs/interface.md and the reference pages of docs/use/, the tools in manifest.json, and
// the manifests of the plugins.
// With --check nothing is written, and an outdated file fails the check.
import { readFile, writeFile } from "node:fs/promises";
import { COMMANDS, type Command, flagsOf } from "../src/cli/commands.ts";
import { formatSynopsis } from "../src/cli/help.ts";
import { firstSentence } from "../src/cli/tool-arguments.ts";
import { version } from "../src/cli/version.ts";
import { readSkillFiles } from "../src/core/package-files.ts";
import { createSkills } from "../src/mcp/skills.ts";
import { prompts } from "../src/toolkit/prompts.ts";
import { resources } from "../src/toolkit/resources/index.ts";
import { tools } from "../tools/index.ts";
import { pluginManifests } from "./release/plugins.ts";
import { escapeTableCell, formatToolReference } from "./tool-reference.ts";

/** Lists the tools that every client receives; tools that show a view are only for clients with views. */
const shortToolTable = tools
  .filter(({ view }) => view === undefined)
  .map(({ name, description }) => `| \`${name}\` | ${firstSentence(description)} |`)
  .join("\n");

const resourceTable = resources
  .map(
    ({ uri, description, tool, readVersion }) =>
      `| \`${uri}\` | ${description} | \`${tool}\` | ${readVersion ? "yes" : ""} |`,
  )
  .join("\n");

const promptTable = prompts
  .map(({ name, description, arguments: promptArguments }) => {
    const argumentList = promptArguments.map(
      (argument) => `\`${argument.name}\`${argument.required ? "" : " (optional)"}`,
    );
    return `| \`${name}\` | ${argumentList.join(", ")} | ${description} |`;
  })
  .join("\n");

const skillTable = (await createSkills(readSkillFiles, () => true).entries())
  .map(({ uri, frontmatter: { description } }) => `| \`${uri}\` | ${firstSentence(description)} |`)
  .join("\n");

/** Formats a command like its own help text. */
function formatCommand(command: Command): string {
  const { name, summary, notes = [], examples } = command;
  const rows = flagsOf(command).map(
    ({ usage, about }) => `| \`${escapeTableCell(usage)}\` | ${escapeTableCell(about)} |`,
  );
  const table = rows.length === 0 ? [] : [`| flag | |\n|---|---|\n${rows.join("\n")}`];
  const lines = examples.map(([commandLine, description]) => `${commandLine}    # ${description}`);
  return [
    `## ${name}`,
    `\`${formatSynopsis(command)}\``,
    `${summary[0]?.toUpperCase()}${summary.slice(1)}. ${notes.join(" ")}`.trim(),
    ...table,
    `\`\`\`sh\n${lines.join("\n")}\n\`\`\``,
  ].join("\n\n");
}

const commandSections = Object.values(COMMANDS).map(formatCommand).join("\n\n");

const TABLES = {
  resources: `| URI (template) | content | tool | updates |\n|---|---|---|---|\n${resourceTable}`,
  skills: `| skill | purpose |\n|---|---|\n${skillTable}`,
  prompts: `| prompt | arguments | purpose |\n|---|---|---|\n${promptTable}`,
};

/** Rows for docs/interface.md: each operation with its tool and the arguments that the operation itself does not have. */
const operationTable = tools
  .flatMap(({ name, endpoint, argumentNames }) => {
    if (!endpoint) return [];
    const operationArguments = [endpoint.pathParameters, endpoint.query, endpoint.body].flatMap((part) =>
      Object.keys(part?.shape ?? {}),
    );
    const extra = argumentNames
      .filter((argument) => !operationArguments.includes(argument))
      .map((argument) => `\`${argument}\``);
    return [`| ${endpoint.id} | \`${name}\` | ${extra.join(", ")}${extra.length > 0 ? " " : ""}|`];
  })
  .join("\n");

const replaceSection = (text: string, name: string, content: string): string =>
  text.replace(
    new RegExp(`(<!-- ${name}: made by npm run fix -->\n)[\\s\\S]*?(<!-- /${name} -->)`),
    (_, open: string, close: string) => `${open}${content}\n${close}`,
  );

const manifestGenerators = Object.fromEntries(
  Object.entries(pluginManifests).map(([path, manifest]) => [path, () => `${JSON.stringify(manifest, null, 2)}\n`]),
);

const toolReference = await formatToolReference();

const generators: Readonly<Record<string, (text: string) => string>> = {
  ...manifestGenerators,
  "README.md": (text) => replaceSection(text, "tools", `| tool | description |\n|---|---|\n${shortToolTable}`),
  "docs/use/resources.md": (text) =>
    Object.entries(TABLES).reduce((updatedText, [name, content]) => replaceSection(updatedText, name, content), text),
  "docs/interface.md": (text) =>
    replaceSection(text, "operations", `| operation id | tool | extra arguments |\n|---|---|---|\n${operationTable}`),
  "docs/use/tools.md": (text) => replaceSection(text, "tool reference", `\n${toolReference}\n`),
  "docs/use/commands.md": (text) => replaceSection(text, "commands", `\n${commandSections}\n`),
  "manifest.json": (text) => {
    const manifest: Record<string, unknown> = JSON.parse(text);
    const toolList = tools.map(({ name, description }) => ({ name, description }));
    return `${JSON.stringify({ ...manifest, version, tools: toolList, prompts_generated: true }, null, 2)}\n`;
  },
};

const stale: string[] = [];
for (const [file, generate] of Object.entries(generators)) {
  const text = await readFile(file, "utf8");
  const updatedText = generate(text);
  if (updatedText === text) continue;
  stale.push(file);
  if (!process.argv.includes("--check")) await writeFile(file, updatedText);
}
if (stale.length > 0)
  process.stdout.write(
    `${stale.join(", ")}: ${process.argv.includes("--check") ? "not up to date, run npm run fix" : "regenerated"}\n`,
  );
if (stale.length > 0 && process.argv.includes("--check")) process.exitCode = 1;
