// Tests rows as CSV: a strict parser of RFC 4180 reads them back, and no cell is a formula.
import { readdir, readFile, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import fc from "fast-check";
import { expect, test } from "vitest";
import { saveRows, toCsv } from "../../src/toolkit/save-rows.ts";
import { parseCsv } from "../support/csv.ts";
import { folderForTest } from "../support/temporary-folder.ts";

test("any cells are read back; text that would be a formula starts with an apostrophe", () => {
  const cell = fc.oneof(
    fc.string({ unit: fc.constantFrom("a", ",", '"', "\r", "\n", "\t", "=", "+", "-", "@", "é", " ") }),
    fc.integer({ min: -9, max: 9 }),
  );
  const table = fc
    .integer({ min: 1, max: 4 })
    .chain((width) => fc.array(fc.array(cell, { minLength: width, maxLength: width }), { maxLength: 5 }));
  fc.assert(
    fc.property(table, (rows) => {
      const columns = (rows[0] ?? ["a"]).map((_, index) => `column ${index}`);
      const [header, ...read] = parseCsv(toCsv({ columns, rows }).toString());
      expect(header).toEqual(columns);
      const expected = rows.map((cells) =>
        cells.map((each) => (typeof each === "string" && /^[=+\-@\t\r]/.test(each) ? `'${each}` : String(each))),
      );
      expect(read).toEqual(expected);
    }),
  );
});

test("a number stays a number, even below zero", () => {
  expect(toCsv({ columns: ["n"], rows: [[-1], ["-1"]] }).toString()).toBe("n\r\n-1\r\n'-1\r\n");
});

const table = { columns: ["a"], rows: [[1], [2]] };
const madeBy = { tool: "list_jobs", arguments: {} };
const into = (folder: string) => ({ files: { kind: "folder", folder } }) as const;

test("the name of a symbolic link counts as taken, and its target is unchanged", async () => {
  const [downloadDir, elsewhere] = [await folderForTest(), await folderForTest()];
  await writeFile(join(elsewhere, "kept"), "kept");
  await symlink(join(elsewhere, "kept"), join(downloadDir, "link.csv"));
  await symlink(join(elsewhere, "new"), join(downloadDir, "dangling.csv"));
  for (const name of ["link.csv", "dangling.csv"])
    await expect(saveRows(into(downloadDir), name, table, madeBy)).rejects.toMatchObject({
      facts: { kind: "invalid_arguments" },
    });
  expect(await readdir(elsewhere)).toEqual(["kept"]);
  expect(await readFile(join(elsewhere, "kept"), "utf8")).toBe("kept");
});

test("only one of several concurrent saves under one name succeeds", async () => {
  const downloadDir = join(await folderForTest(), "made", "when missing");
  const outcomes = await Promise.allSettled(
    Array.from({ length: 8 }, (_, index) =>
      saveRows(into(downloadDir), "rows.csv", { columns: ["a"], rows: [[index]] }, madeBy),
    ),
  );
  expect(outcomes.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
  expect(await readdir(downloadDir)).toEqual(["rows.csv"]);
});

test("a download folder that is a file is reported as an internal error", async () => {
  const downloadDir = join(await folderForTest(), "file");
  await writeFile(downloadDir, "");
  await expect(saveRows(into(downloadDir), "rows.csv", table, madeBy)).rejects.toMatchObject({
    facts: { kind: "internal", sideEffect: "none", next: expect.stringContaining("MIC_DOWNLOAD_DIR") },
  });
});
