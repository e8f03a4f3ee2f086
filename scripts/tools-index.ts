// Generates src/toolkit/tool-names.ts and tools/index.ts from the files in tools/. Each tool is the export that has its file's
// name. Tools for operations have the contract's order, then come the other tools, then those that show a view. A new tool
// without an operation comes last of its kind. With --check nothing is written, and an outdated file fails the check. The script
// imports no tool, so it can repair a list that does not load.
import { readdir, readFile, writeFile } from "node:fs/promises";
import { endpoints } from "../src/contract/endpoints/index.ts";
import { TOOL_NAMES } from "../src/toolkit/tool-names.ts";

const INDEX = "index.ts";

const toExportName = (name: string): string => name.replace(/_(.)/g, (_, letter: string) => letter.toUpperCase());
const toImportStatement = (name: string): string =>
  `import { ${toExportName(name)} } from "./${name.replaceAll("_", "-")}.ts";`;

/** Returns the position of a tool: its kind, then its place within the kind. */
async function readToolRank(file: string) {
  const name = file.slice(0, -".ts".length).replaceAll("-", "_");
  const code = await readFile(`tools/${file}`, "utf8");
  const operation = /^ {2}endpoint: (\w+),$/m.exec(code)?.[1];
  const known = TOOL_NAMES.map(String).indexOf(name);
  const last = known === -1 ? TOOL_NAMES.length : known;
  if (operation !== undefined) return { name, kind: 0, place: endpoints.findIndex(({ id }) => id === operation) };
  return { name, kind: /^ {2}view: /m.test(code) ? 2 : 1, place: last };
}

const files = (await readdir("tools")).filter((file) => file.endsWith(".ts") && file !== INDEX).sort();
const ranks = await Promise.all(files.map(readToolRank));
const names = ranks.sort((one, other) => one.kind - other.kind || one.place - other.place).map(({ name }) => name);

const generatedFiles = {
  "src/toolkit/tool-names.ts": `// The names of the tools, in the order of tools/list. Made by npm run fix from the files of tools/.
export const TOOL_NAMES = [
${names.map((name) => `  "${name}",`).join("\n")}
] as const;

export type ToolName = (typeof TOOL_NAMES)[number];
`,
  [`tools/${INDEX}`]: `// The tools in the order of the contract: everything that repeats them is made from this list.
// Made by npm run fix from the files of tools/.
import type { DefinedTool } from "../src/toolkit/define-tool.ts";
${[...names].sort().map(toImportStatement).join("\n")}

export const tools: readonly DefinedTool[] = [
${names.map((name) => `  ${toExportName(name)},`).join("\n")}
];
`,
};

for (const [file, text] of Object.entries(generatedFiles)) {
  if (text === (await readFile(file, "utf8"))) continue;
  const isCheck = process.argv.includes("--check");
  if (isCheck) process.exitCode = 1;
  else await writeFile(file, text);
  process.stdout.write(`${file}: ${isCheck ? "not up to date, run npm run fix" : "regenerated"}\n`);
}
