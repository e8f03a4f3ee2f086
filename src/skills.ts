// The texts of skills/, which travel in the package beside dist/: from here and from the bundle the folder is the same step away.
import { readdir, readFile } from "node:fs/promises";

const FOLDER = new URL("../skills/", import.meta.url);

/** By their paths in the folder: `run-a-job/SKILL.md`. */
export async function readSkillFiles(): Promise<Readonly<Record<string, string>>> {
  const folders = await readdir(FOLDER, { withFileTypes: true });
  const paths = folders.filter((entry) => entry.isDirectory()).map(({ name }) => `${name}/SKILL.md`);
  return Object.fromEntries(
    await Promise.all(paths.map(async (path) => [path, await readFile(new URL(path, FOLDER), "utf8")] as const)),
  );
}
