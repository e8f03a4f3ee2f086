// Copies this tree, and builds it with one additional journal version: the target of a rolling restart.
import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { cp, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

const SCHEMA = "src/actions/schema.ts";
const CHANGES = /(const CHANGES: readonly \(readonly string\[\]\)\[\] = \[)([^;]*)\];/;
const COMPATIBLE_WITH = /(const COMPATIBLE_WITH: Readonly<Record<number, number>> = \{)([^}]*)\}/;

/** Adds an unused table to the source of the schema, and marks the change as compatible with the previous version. */
function addJournalVersion(source: string): string {
  if (!CHANGES.test(source) || !COMPATIBLE_WITH.test(source))
    throw new Error(`${SCHEMA} has changed its form: adapt this file`);
  const withComma = (existing: string): string =>
    existing.trim() === "" ? "" : `${existing.trimEnd().replace(/,$/, "")},`;
  const append = (text: string, list: RegExp, item: string) =>
    text.replace(list, (_, start: string, existing: string) => `${start}${withComma(existing)}${item}`);
  const changed = append(source, CHANGES, '["CREATE TABLE of_the_next_version (nothing INTEGER)"]];');
  return append(changed, COMPATIBLE_WITH, " [BASELINE + CHANGES.length]: BASELINE + CHANGES.length - 1 }");
}

/** Copies all files of this tree that git does not ignore, and links the installed packages. */
export async function copyTree(folder: string, isCopied = (_name: string): boolean => true): Promise<void> {
  const listed = execFileSync("git", ["ls-files", "-z", "--cached", "--others", "--exclude-standard"]).toString();
  const names = [...new Set(listed.split("\0"))].filter((name) => name !== "" && existsSync(name));
  for (const name of names.filter(isCopied)) await cp(name, join(folder, name), { recursive: true });
  await symlink(join(process.cwd(), "node_modules"), join(folder, "node_modules"), "junction");
}

/** Builds the next version, which takes as long as a normal build. `entry`: the arguments of node that start it. */
export async function buildNextVersion() {
  const folder = await mkdtemp(join(tmpdir(), "mic-mcp-next-"));
  const remove = (): Promise<void> => rm(folder, { recursive: true, force: true });
  try {
    await copyTree(folder, (name) => !/^(test\/|node_modules)/.test(name));
    const path = join(folder, SCHEMA);
    await writeFile(path, addJournalVersion(await readFile(path, "utf8")));
    execFileSync(process.execPath, ["--import", "tsx", "scripts/build.ts"], { cwd: folder, stdio: "pipe" });
    return { entry: [join(folder, "dist", "cli.js")], remove };
  } catch (error) {
    await remove();
    throw error;
  }
}
