// Makes tools/index.ts from the names in src/toolkit/tool-names.ts: each tool is its file's export of the same name.
// With --check nothing is written; a file that is not up to date fails. Imports no tool, so it mends a list that does not load.
import { readFile, writeFile } from "node:fs/promises";
import { TOOL_NAMES } from "../src/toolkit/tool-names.ts";

const FILE = "tools/index.ts";

const exported = (name: string): string => name.replace(/_(.)/g, (_, letter: string) => letter.toUpperCase());
const imported = (name: string): string => `import { ${exported(name)} } from "./${name.replaceAll("_", "-")}.ts";`;

const fresh = `// The tools in the order of the contract: everything that repeats them is made from this list.
// Made by npm run fix from src/toolkit/tool-names.ts.
import type { DefinedTool } from "../src/toolkit/define-tool.ts";
import type { ToolName } from "../src/toolkit/tool-names.ts";
${[...TOOL_NAMES].sort().map(imported).join("\n")}

const byName: { readonly [N in ToolName]: DefinedTool & { readonly name: N } } = {
${TOOL_NAMES.map((name) => `  ${name}: ${exported(name)},`).join("\n")}
};

export const tools: readonly DefinedTool[] = Object.values(byName);
`;

if (fresh !== (await readFile(FILE, "utf8"))) {
  const isCheck = process.argv.includes("--check");
  if (isCheck) process.exitCode = 1;
  else await writeFile(FILE, fresh);
  process.stdout.write(`${FILE}: ${isCheck ? "not up to date, run npm run fix" : "made anew"}\n`);
}
