// Generates the names of the tools in src/toolkit/, the reference pages of docs/use/, and the manifests of the plugins and of the bundle.
// With --check nothing is written, and an outdated file fails the check.
import { readFile, writeFile } from "node:fs/promises";
import { type Command, commands, flagsOf } from "../src/cli/commands.ts";
import { firstSentence } from "../src/cli/tool-arguments.ts";
import { readSkillFiles } from "../src/core/package-files.ts";
import { createSkills } from "../src/mcp/skills.ts";
import { prompts } from "../src/toolkit/prompts.ts";
import { resources } from "../src/toolkit/resources/index.ts";
import { tools } from "../tools/index.ts";
import { formatBadges } from "./release/links.ts";
import { formatBundleManifest, pluginManifests } from "./release/plugins.ts";
import { PAGES, releaseNote } from "./release/unreleased.ts";
import { formatToolReference } from "./tool-reference.ts";

const resourceTable = resources
  .map(
    ({ uri, description, tool, watchVersion }) =>
      `| \`${uri}\` | ${firstSentence(description)} | \`${tool}\` | ${watchVersion ? "yes" : ""} |`,
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

const formatList = (rows: readonly (readonly [code: string, about: string])[]): string =>
  rows.map(([code, about]) => `- \`${code}\`: ${about}`).join("\n");

const flagsByUsage = (command: Command) =>
  flagsOf(command).map(({ usage, about }): readonly [usage: string, about: string] => [usage, about]);

/** Whether several commands have the flag with the same meaning: the page describes it once. */
const isCommonFlag = ([usage, about]: readonly [string, string]): boolean =>
  commands.filter((command) => flagsByUsage(command).some((flag) => flag[0] === usage && flag[1] === about)).length > 2;

const configuration = await readFile("docs/use/configuration.md", "utf8");

/** Whether the flag of serve stands for a variable, which the page about configuration describes. */
const isVariable = (command: string, [usage]: readonly [string, string]): boolean =>
  command === "serve" &&
  configuration.includes(`\`MIC_${/^--([\w-]+)/.exec(usage)?.[1]?.toUpperCase().replaceAll("-", "_")}\``);

/** Formats a command like its own help text. */
function formatCommand(command: Command): string {
  const { name, argumentsUsage, summary, actions, notes = [], examples } = command;
  const flags = flagsByUsage(command);
  const own = flags.filter((flag) => !isCommonFlag(flag) && !isVariable(name, flag));
  const variables = flags.filter((flag) => isVariable(name, flag)).map(([usage]) => `\`${usage}\``);
  const common = flags.filter((flag) => isCommonFlag(flag) && !isVariable(name, flag)).map(([usage]) => `[${usage}]`);
  const lines = examples.map(([commandLine, description]) => `${commandLine}    # ${description}`);
  return [
    `## ${name}`,
    `\`${["mic-mcp", name, ...(argumentsUsage ? [argumentsUsage] : []), ...common].join(" ")}\``,
    `${summary[0]?.toUpperCase()}${summary.slice(1)}. ${notes.join(" ")}`.trim(),
    ...(actions ? [formatList(Object.entries(actions))] : own.length > 0 ? [formatList(own)] : []),
    ...(actions
      ? [`\`mic-mcp ${name} ACTION --help\` describes the flags: ${own.map(([usage]) => `\`${usage}\``).join(", ")}.`]
      : []),
    ...(variables.length > 0 ? [`As [the variables](configuration.md) of these names: ${variables.join(", ")}.`] : []),
    // The pages for operators have those of a command with actions.
    ...(actions ? [] : [`\`\`\`sh\n${lines.join("\n")}\n\`\`\``]),
  ].join("\n\n");
}

const commonFlags = new Map(commands.flatMap(flagsByUsage).filter(isCommonFlag));
const commandSections = [
  `## Flags of several commands\n\n${formatList([...commonFlags])}`,
  ...commands.map(formatCommand),
].join("\n\n");

const TABLES = {
  resources: `| URI (template) | content | tool | updates |\n|---|---|---|---|\n${resourceTable}`,
  skills: `| skill | purpose |\n|---|---|\n${skillTable}`,
  prompts: `| prompt | arguments | purpose |\n|---|---|---|\n${promptTable}`,
};

const replaceSection = (text: string, name: string, content: string): string =>
  text.replace(
    new RegExp(`(<!-- ${name}: made by npm run fix -->\n)[\\s\\S]*?(<!-- /${name} -->)`),
    (_, open: string, close: string) => `${open}${content}\n${close}`,
  );

const manifestGenerators = Object.fromEntries(
  Object.entries(pluginManifests).map(([path, manifest]) => [path, () => `${JSON.stringify(manifest, null, 2)}\n`]),
);

const releaseNoteGenerators = Object.fromEntries(
  PAGES.map((page) => [page, (text: string) => replaceSection(text, "release", releaseNote(page))]),
);

const toolNames = `// The names of the tools, in the order of tools/list. Generated by npm run fix from tools/index.ts.
export const TOOL_NAMES = [
${tools.map(({ name }) => `  "${name}",`).join("\n")}
] as const;

export type ToolName = (typeof TOOL_NAMES)[number];
`;

const generators: Readonly<Record<string, (text: string) => string>> = {
  ...manifestGenerators,
  ...releaseNoteGenerators,
  "src/core/tool-names.ts": () => toolNames,
  "docs/use/resources.md": (text) =>
    Object.entries(TABLES).reduce((updatedText, [name, content]) => replaceSection(updatedText, name, content), text),
  "README.md": (text) => replaceSection(text, "badges", formatBadges()),
  "docs/use/tools.md": (text) => replaceSection(text, "tool reference", `\n${formatToolReference()}\n`),
  "docs/use/commands.md": (text) => replaceSection(text, "commands", `\n${commandSections}\n`),
  "manifest.json": () =>
    `${JSON.stringify(formatBundleManifest(tools.map(({ name, description }) => ({ name, description }))), null, 2)}\n`,
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
