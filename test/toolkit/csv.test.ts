// Tests rows as CSV: a strict parser of RFC 4180 reads them back, and no cell is a formula.
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import fc from "fast-check";
import { expect, onTestFinished, test } from "vitest";
import { toCsv } from "../../src/toolkit/csv.ts";
import { composeForTest } from "../support/compose.ts";
import { parseCsv } from "../support/csv.ts";
import { folderForTest } from "../support/temporary-folder.ts";

test("any cells can be read back; a text that would be a formula is prefixed with an apostrophe, a number never is", () => {
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

test("only one of several concurrent saves under one name succeeds", async () => {
  const downloadDir = join(await folderForTest(), "made", "when missing");
  const { runtime, close } = composeForTest({ MIC_DOWNLOAD_DIR: downloadDir });
  onTestFinished(close);
  const { files } = runtime.ports;
  const source = { tool: "list_jobs", arguments: {} };
  const outcomes = await Promise.allSettled(
    Array.from({ length: 8 }, (_, index) => files.saveRows("rows.csv", { columns: ["a"], rows: [[index]] }, source)),
  );
  expect(outcomes.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
  expect(await readdir(downloadDir)).toEqual(["rows.csv"]);
});
