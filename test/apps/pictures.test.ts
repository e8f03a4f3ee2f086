// Draws the pictures of docs/pictures/. `npm run apps:pictures` keeps them (PICTURES is their folder); otherwise, this only tests that it works.
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect } from "vitest";
import { drawRecordings } from "../../scripts/record-terminal.ts";
import { folderForTest } from "../support/temporary-folder.ts";
import { testUnless, thoroughMissing } from "../support/unless.ts";
import { CHROMIUM, pagesForFile } from "./browser.ts";
import { drawPictures } from "./screenshots.ts";

const { PICTURES } = process.env;
const missing = PICTURES === undefined ? thoroughMissing : undefined;
const folderOfPictures = async () => PICTURES ?? (await folderForTest());
const pages = pagesForFile();

const listPictures = async (folder: string, extension: string) =>
  (await readdir(folder)).filter((name) => name.endsWith(extension) && !name.startsWith("icon")).sort();

testUnless(
  missing ?? (CHROMIUM ? undefined : "there is no Chromium here"),
  "each picture of a view in docs/pictures can be drawn",
  async () => {
    const folder = await folderOfPictures();
    await drawPictures(pages(), folder);
    expect(await listPictures(folder, ".png")).toEqual(await listPictures("docs/pictures", ".png"));
  },
);

/** Returns the lines of a recording, without the times, which differ in each run. */
async function linesOf(path: string): Promise<readonly (string | undefined)[]> {
  const svg = await readFile(path, "utf8");
  return [...svg.matchAll(/<text [^>]*>(.*)<\/text>/g)].map(([, line]) =>
    line?.replace(/\d[\d:]* (?=UTC|s ago)/g, "… "),
  );
}

testUnless(missing, "the recordings of a terminal show what the program prints now", async () => {
  const folder = await folderOfPictures();
  await drawRecordings(folder);
  const names = await listPictures("docs/pictures", ".svg");
  expect(await listPictures(folder, ".svg")).toEqual(names);
  for (const name of names) {
    const lines = await linesOf(join(folder, name));
    expect(lines.length, name).toBeGreaterThan(5);
    expect(lines, name).toEqual(await linesOf(join("docs/pictures", name)));
  }
});
