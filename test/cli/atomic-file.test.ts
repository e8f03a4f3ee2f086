// Tests that a file is replaced as a whole, also while another program holds it open, as on Windows.
import { readdir, readFile, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { writeFileAtomically } from "../../src/cli/atomic-file.ts";
import { folderForTest } from "../support/temporary-folder.ts";

/** The first `failures` renames fail as on Windows while another program has the file open. */
async function replaceFile(platform: NodeJS.Platform, code: string, failures: number) {
  const folder = await folderForTest();
  const path = join(folder, "mcp.json");
  await writeFile(path, "before");
  let attempts = 0;
  const outcome = await writeFileAtomically(path, "after", {
    platform,
    rename: async (from, to) => {
      attempts += 1;
      if (attempts <= failures) throw Object.assign(new Error(code), { code });
      await rename(from, to);
    },
  }).catch((error: Error) => error.message);
  return { outcome, attempts, text: await readFile(path, "utf8"), files: await readdir(folder) };
}

test.each([
  ["win32", "EPERM", 3, { outcome: undefined, attempts: 4, text: "after" }],
  ["win32", "EBUSY", 1, { outcome: undefined, attempts: 2, text: "after" }],
  ["win32", "EACCES", 99, { outcome: "EACCES", attempts: 7, text: "before" }],
  ["win32", "ENOSPC", 1, { outcome: "ENOSPC", attempts: 1, text: "before" }],
  ["linux", "EPERM", 1, { outcome: "EPERM", attempts: 1, text: "before" }],
] as const)(
  "on %s, the error %s in %d renames leaves a complete file and no draft",
  async (platform, code, failures, expected) => {
    expect(await replaceFile(platform, code, failures)).toEqual({ ...expected, files: ["mcp.json"] });
  },
);
