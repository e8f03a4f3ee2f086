// Tests what `mic-mcp doctor` reports about the folder of the journal, by system.
import { chmod } from "node:fs/promises";
import { expect } from "vitest";
import { checkFolder } from "../../src/cli/checks.ts";
import { folderForTest } from "../support/temporary-folder.ts";
import { posixMissing, testUnless } from "../support/unless.ts";

const check = (folder: string, platform: NodeJS.Platform) =>
  checkFolder("state folder", folder, "MIC_STATE_DIR", true, platform);

testUnless(
  posixMissing,
  "the check of a folder that other users can read fails, except on Windows, where file modes do not exist",
  async () => {
    const folder = await folderForTest();
    await chmod(folder, 0o755);
    expect(await check(folder, "darwin")).toMatchObject({ ok: false, fix: `chmod 700 "${folder}"` });
    const unchecked = { name: "state folder", ok: true, detail: `${folder} (its access list is not checked)` };
    expect(await check(folder, "win32")).toEqual(unchecked);
    await chmod(folder, 0o700);
    expect(await check(folder, "darwin")).toMatchObject({ ok: true, detail: folder });
  },
);
