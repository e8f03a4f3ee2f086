// This module reads files that the package ships with its program: the texts of skills/, tables, and the views that the build creates from apps/.
import { readFileSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";

/** The folder of the package, relative to src/core/ or to a file in dist/. */
const PACKAGE = new URL(import.meta.url.endsWith(".ts") ? "../../" : "../", import.meta.url);

/** Path of the program that clients start. */
export const programFile = fileURLToPath(new URL("dist/cli.js", PACKAGE));

/** Returns the texts by path in skills/, such as `run-a-job/SKILL.md`. */
export async function readSkillFiles(): Promise<Readonly<Record<string, string>>> {
  const folder = new URL("skills/", PACKAGE);
  const entries = await readdir(folder, { withFileTypes: true });
  const paths = entries.filter((entry) => entry.isDirectory()).map(({ name }) => `${name}/SKILL.md`);
  return Object.fromEntries(
    await Promise.all(paths.map(async (path) => [path, await readFile(new URL(path, folder), "utf8")] as const)),
  );
}

/** Returns the cells of a table of tab-separated values, row by row, without its header line. */
export function readTable(url: URL): readonly (readonly string[])[] {
  const lines = readFileSync(url, "utf8").split("\n");
  return lines.slice(1).flatMap((line) => (line === "" ? [] : [line.split("\t")]));
}

/** Returns the HTML of a view. Each call reads the file, so that views that no client shows use no memory. */
export const readViewFile = (name: string): Promise<string> =>
  readFile(new URL(`dist/apps/${name}.html`, PACKAGE), "utf8");
