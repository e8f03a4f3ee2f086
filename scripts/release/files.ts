// Writes the parts of a release and runs the programs that create some of them.
import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join, relative } from "node:path";
import { promisify } from "node:util";

const execute = promisify(execFile);

/** Runs a program. Resolves with its standard output; rejects if it fails. On Windows, npm is a script that needs a shell. */
export async function run(program: string, args: readonly string[]): Promise<string> {
  const shell = program === "npm" && process.platform === "win32";
  const { stdout } = await execute(program, [...args], { maxBuffer: 16 * 1024 * 1024, shell });
  return stdout;
}

export async function writeText(path: string, text: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, text);
}

export const writeJson = (path: string, value: unknown): Promise<void> =>
  writeText(path, `${JSON.stringify(value, null, 2)}\n`);

export const sha256 = async (path: string): Promise<string> =>
  createHash("sha256")
    .update(await readFile(path))
    .digest("hex");

/** Returns all files below a folder as sorted relative paths with forward slashes. */
export async function listFiles(folder: string): Promise<readonly string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile());
  return files.map((entry) => relative(folder, join(entry.parentPath, entry.name)).replaceAll("\\", "/")).sort();
}
