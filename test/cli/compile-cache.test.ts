// Tests Node's compile cache: the program stores it in the user's cache folder, and never in a folder that another user can write
// to.
import { chmod, chown, mkdir, readdir, rename, stat, symlink, writeFile } from "node:fs/promises";
import nodeModule from "node:module";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { start } from "../mcp/stdio/child.ts";
import { folderForTest } from "../support/temporary-folder.ts";
import { posixMissing, testUnless } from "../support/unless.ts";

const hasCompileCache = "enableCompileCache" in nodeModule;

/** Runs the program once with a new cache folder; it must work with or without the cache. */
async function runVersion(env: Readonly<Record<string, string>>): Promise<void> {
  const program = start(["--version"], { env });
  expect(await program.exit).toEqual({ code: 0, signal: null });
  expect(program.stderr()).toBe("");
}

test.skipIf(hasCompileCache)("Node without a compile cache starts and creates no folder (needs Node 20)", async () => {
  const home = await folderForTest();
  await runVersion({ XDG_CACHE_HOME: home });
  expect(await readdir(home)).toEqual([]);
});

describe.skipIf(!hasCompileCache)("with a compile cache (needs Node 22.8)", () => {
  test("the first run fills the user's cache folder, which other users cannot read", async () => {
    const home = await folderForTest();
    await runVersion({ XDG_CACHE_HOME: home });
    const folder = join(home, "mic-mcp");
    const [versionFolder = ""] = await readdir(folder);
    expect(versionFolder).toContain(process.version);
    expect(await readdir(join(folder, versionFolder))).not.toEqual([]);
    if (posixMissing === undefined) expect((await stat(folder)).mode & 0o777).toBe(0o700);
    await runVersion({ XDG_CACHE_HOME: home });
  });

  const isRoot = process.getuid?.() === 0;
  const unusable: readonly (readonly [string, string | undefined, (folder: string) => Promise<void>])[] = [
    ["that its group can write to", posixMissing, (folder) => chmod(folder, 0o770)],
    ["that others can write to", posixMissing, (folder) => chmod(folder, 0o707)],
    [
      "that is a symbolic link",
      posixMissing,
      async (folder) => {
        await rename(folder, `${folder}-elsewhere`);
        await symlink(`${folder}-elsewhere`, folder);
      },
    ],
    ["that another user owns", isRoot ? undefined : "needs root", (folder) => chown(folder, 65_534, 65_534)],
  ];
  for (const [which, missing, change] of unusable)
    testUnless(missing, `a folder ${which} is not used`, async () => {
      const home = await folderForTest();
      const folder = join(home, "mic-mcp");
      await mkdir(folder, { mode: 0o700 });
      await change(folder);
      await runVersion({ XDG_CACHE_HOME: home });
      expect(await readdir(folder)).toEqual([]);
    });

  test("a file at the folder's path is not an error", async () => {
    const home = await folderForTest();
    await writeFile(join(home, "mic-mcp"), "a file where the folder should be");
    await runVersion({ XDG_CACHE_HOME: home });
  });

  test("Node's own variables take precedence", async () => {
    const [home, own] = [await folderForTest(), await folderForTest()];
    await runVersion({ XDG_CACHE_HOME: home, NODE_DISABLE_COMPILE_CACHE: "1" });
    await runVersion({ XDG_CACHE_HOME: home, NODE_COMPILE_CACHE: own });
    expect(await readdir(home)).toEqual([]);
    expect(await readdir(own)).not.toEqual([]);
  });
});
