// Tests the last steps of a new file: it is synced to disk before it has its name, and replaces no file on a disk without hard links.
import promises, { open, readdir, readFile, writeFile } from "node:fs/promises";
import { syncBuiltinESMExports } from "node:module";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { createFile } from "../../src/api-client/new-file.ts";
import { folderForTest } from "../support/temporary-folder.ts";

test("a file is synced to disk before it has its name", async () => {
  const folder = await folderForTest();
  const handle = await open(join(folder, "other"), "w");
  await handle.close();
  const namesAtSync: string[][] = [];
  const syncing = vi.spyOn(Object.getPrototypeOf(handle), "sync").mockImplementation(async () => {
    namesAtSync.push(await readdir(folder));
  });
  onTestFinished(() => syncing.mockRestore());
  await createFile({ folder, name: "new" }, (file) => file.writeFile("bytes"));
  expect(namesAtSync).toEqual([["other", expect.stringMatching(/^\.mic-mcp-part-/)].sort()]);
});

test("a new file never replaces another file on a disk without hard links", async () => {
  // Linux reports an existing name before it reports that a disk (FAT) has no hard links. Another program can create the name in between.
  const linking = vi.spyOn(promises, "link").mockRejectedValue(Object.assign(new Error(), { code: "EPERM" }));
  syncBuiltinESMExports();
  onTestFinished(() => {
    linking.mockRestore();
    syncBuiltinESMExports();
  });
  const folder = await folderForTest();
  await writeFile(join(folder, "taken.csv"), "mine");
  const write = (name: string) => createFile({ folder, name, mayNumber: true }, (file) => file.writeFile("bytes"));
  expect(await write("taken.csv")).toMatchObject({ fileName: "taken (2).csv" });
  expect(await write("free.csv")).toMatchObject({ fileName: "free.csv" });
  const contents = (await readdir(folder)).sort().map((name) => readFile(join(folder, name), "utf8"));
  expect(await Promise.all(contents)).toEqual(["bytes", "bytes", "mine"]);
  expect(linking).toHaveBeenCalledTimes(3);
});
