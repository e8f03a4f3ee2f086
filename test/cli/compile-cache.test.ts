// Tests Node's compile cache: the program stores it in the user's cache folder, and never in a folder that another user can write
// to.
import { chmod, chown, lstat, mkdir, readdir, stat, symlink, writeFile } from "node:fs/promises";
import nodeModule from "node:module";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { start } from "../mcp/stdio/child.ts";
import { folderForTest } from "../support/temporary-folder.ts";
import { posixMissing, testUnless } from "../support/unless.ts";

const hasCompileCache = "enableCompileCache" in nodeModule;

async function setUp() {
  const home = await folderForTest();
  return { home, folder: join(home, "mic-mcp") };
}

/** Runs the program once; it must work with or without the cache. */
async function runVersion(home: string, env: Readonly<Record<string, string>> = {}): Promise<void> {
  const program = start(["--version"], { env: { XDG_CACHE_HOME: home, ...env } });
  expect(await program.exit).toEqual({ code: 0, signal: null });
  expect(program.stderr()).toBe("");
}

test.skipIf(hasCompileCache)("Node without a compile cache starts and creates no folder (needs Node 20)", async () => {
  const { home, folder } = await setUp();
  await runVersion(home);
  await expect(stat(folder)).rejects.toThrow("ENOENT");
});

describe.skipIf(!hasCompileCache)("with a compile cache (needs Node 22.8)", () => {
  test("the first run fills the user's cache folder, which other users cannot read", async () => {
    const { home, folder } = await setUp();
    await runVersion(home);
    const [versionFolder = ""] = await readdir(folder);
    expect(versionFolder).toContain(process.version);
    expect(await readdir(join(folder, versionFolder))).not.toEqual([]);
    if (posixMissing === undefined) expect((await stat(folder)).mode & 0o777).toBe(0o700);
    await runVersion(home);
  });

  testUnless(posixMissing, "a folder that others can write to is not used", async () => {
    for (const mode of [0o770, 0o707]) {
      const { home, folder } = await setUp();
      await mkdir(folder);
      await chmod(folder, mode);
      await runVersion(home);
      expect(await readdir(folder)).toEqual([]);
    }
  });

  test.skipIf(process.getuid?.() !== 0)("a folder that another user owns is not used (needs root)", async () => {
    const { home, folder } = await setUp();
    await mkdir(folder, { mode: 0o700 });
    await chown(folder, 65_534, 65_534);
    await runVersion(home);
    expect(await readdir(folder)).toEqual([]);
  });

  testUnless(posixMissing, "a symbolic link is not followed", async () => {
    const { home, folder } = await setUp();
    const otherFolder = join(home, "elsewhere");
    await mkdir(otherFolder, { mode: 0o700 });
    await symlink(otherFolder, folder);
    await runVersion(home);
    expect((await lstat(folder)).isSymbolicLink()).toBe(true);
    expect(await readdir(otherFolder)).toEqual([]);
  });

  test("a file at the folder's path is not an error", async () => {
    const { home, folder } = await setUp();
    await writeFile(folder, "a file where the folder should be");
    await runVersion(home);
  });

  test("Node's own variables take precedence", async () => {
    const { home, folder } = await setUp();
    const own = join(home, "own");
    await runVersion(home, { NODE_DISABLE_COMPILE_CACHE: "1" });
    await runVersion(home, { NODE_COMPILE_CACHE: own });
    await expect(stat(folder)).rejects.toThrow("ENOENT");
    expect(await readdir(own)).not.toEqual([]);
  });
});
