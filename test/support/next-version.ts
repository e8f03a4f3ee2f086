// A build of this very tree whose tables have one migration more: what a rolling restart goes to.
import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { cp, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

export interface NextVersion {
  /** node's arguments for it. */
  readonly entry: readonly string[];
  remove(): Promise<void>;
}

const MIGRATIONS = "src/actions/migrations.ts";
const ITS_END = "\n];\n\n/** Of a version that only adds";
const NEEDS = /(const NEEDS: Readonly<Record<number, number>> = \{)([^}]*)\}/;

/** A table that nobody asks for, marked as no reason for the version before to stop. */
function withOneMore(source: string): string {
  const versions =
    /JOURNAL_VERSION = MIGRATIONS\.length/.test(source) && source.includes(ITS_END) && NEEDS.test(source);
  if (!versions) throw new Error(`${MIGRATIONS} has another form: this has to follow it`);
  return source
    .replace(ITS_END, `\n  ["CREATE TABLE of_the_next_version (nothing INTEGER)"],${ITS_END}`)
    .replace(
      NEEDS,
      (_, begun: string, known: string) =>
        `${begun}${known.trim() === "" ? "" : `${known.trimEnd()},`} [MIGRATIONS.length]: MIGRATIONS.length - 1 }`,
    );
}

/** Takes a build's time. */
export async function buildNextVersion(): Promise<NextVersion> {
  const folder = await mkdtemp(join(tmpdir(), "mic-mcp-next-"));
  const remove = (): Promise<void> => rm(folder, { recursive: true, force: true });
  try {
    const listed = execFileSync("git", ["ls-files", "-z", "--cached", "--others", "--exclude-standard"]).toString();
    const names = [...new Set(listed.split("\0"))].filter((name) => name !== "" && existsSync(name));
    for (const name of names.filter((each) => !/^(test\/|node_modules)/.test(each)))
      await cp(name, join(folder, name), { recursive: true });
    await symlink(join(process.cwd(), "node_modules"), join(folder, "node_modules"), "junction");
    const path = join(folder, MIGRATIONS);
    await writeFile(path, withOneMore(await readFile(path, "utf8")));
    execFileSync(process.execPath, ["--import", "tsx", "scripts/build.ts"], { cwd: folder, stdio: "pipe" });
    return { entry: [join(folder, "dist", "cli.js")], remove };
  } catch (error) {
    await remove();
    throw error;
  }
}
