// Draws the pictures of docs/pictures/. `npm run apps:pictures` keeps them (PICTURES is their folder); otherwise, this only tests that it works.
import { readdir } from "node:fs/promises";
import { expect, test } from "vitest";
import { drawDemo } from "../../scripts/record-demo.ts";
import { folderForTest } from "../support/temporary-folder.ts";
import { testUnless } from "../support/unless.ts";
import { CHROMIUM, pagesForFile } from "./browser.ts";
import { drawPictures } from "./screenshots.ts";

const { PICTURES } = process.env;
const folderOfPictures = async () => PICTURES ?? (await folderForTest());
const pages = pagesForFile();

/** Names of the pictures in docs/pictures/ with this extension, without the icon. */
const listPictures = async (folder: string, extension: string) =>
  (await readdir(folder)).filter((name) => name.endsWith(extension) && !name.startsWith("icon")).sort();

testUnless(CHROMIUM ? undefined : "there is no Chromium here", "each picture of a view is drawn", async () => {
  const folder = await folderOfPictures();
  await drawPictures(pages(), folder);
  expect(await listPictures(folder, ".png")).toEqual(await listPictures("docs/pictures", ".png"));
});

test("the recording of the demo is drawn", async () => {
  const folder = await folderOfPictures();
  await drawDemo(folder);
  expect(await listPictures(folder, ".svg")).toEqual(await listPictures("docs/pictures", ".svg"));
});
