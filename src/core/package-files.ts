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

/** Cells that are not empty, by column name. */
export type TableRow = Readonly<Record<string, string>>;

export function readTable(url: URL): readonly TableRow[] {
  const [header = "", ...lines] = readFileSync(url, "utf8").trimEnd().split("\n");
  const columns = header.split("\t");
  return lines.map((line) => {
    const cells = line.split("\t");
    if (cells.length > columns.length) throw new Error(`${url} has too many cells in "${line}"`);
    return Object.fromEntries(columns.flatMap((column, at) => (cells[at] ? [[column, cells[at]]] : [])));
  });
}

/** The tables of the public record of districts; in the bundle, they are next to the program. */
const RECORD = new URL(import.meta.url.endsWith(".ts") ? "../geography/names/record/" : "./", import.meta.url);

/** Reads a table of the public record, which src/geography/names/record/README.md describes. */
export const readRecord = (name: "districts" | "new-districts" | "sources" | "states"): readonly TableRow[] =>
  readTable(new URL(`${name}.tsv`, RECORD));

/** Returns the HTML of a view. Each call reads the file, so that views that no client shows use no memory. */
export const readViewFile = (name: string): Promise<string> =>
  readFile(new URL(`dist/apps/${name}.html`, PACKAGE), "utf8");
