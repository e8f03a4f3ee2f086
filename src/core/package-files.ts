// Reads files that the package ships beside its program: the texts of skills/ and the views, which the build makes of apps/.
import { readdir, readFile } from "node:fs/promises";

/** From src/core/, or from a file in dist/. */
const PACKAGE = new URL(import.meta.url.endsWith(".ts") ? "../../" : "../", import.meta.url);

/** By their paths in skills/: `run-a-job/SKILL.md`. */
export async function readSkillFiles(): Promise<Readonly<Record<string, string>>> {
  const folder = new URL("skills/", PACKAGE);
  const entries = await readdir(folder, { withFileTypes: true });
  const paths = entries.filter((entry) => entry.isDirectory()).map(({ name }) => `${name}/SKILL.md`);
  return Object.fromEntries(
    await Promise.all(paths.map(async (path) => [path, await readFile(new URL(path, folder), "utf8")] as const)),
  );
}

/** Read at each call: nothing is kept of views that no client shows. */
export const readViewFile = (name: string): Promise<string> =>
  readFile(new URL(`dist/apps/${name}.html`, PACKAGE), "utf8");
