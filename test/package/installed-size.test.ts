// Tests the size of what `npm ci` installs, by content: the packages of the lock file, as they are in node_modules.
import { lstatSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { linuxMissing, testUnless } from "../support/unless.ts";

const BLOCK_BYTES = 4_096;
/** The limit for the size that `du` reports on a file system with 4 KiB blocks, in MiB. */
const LIMIT_MIB = 300;

/** Adds up the blocks of a folder without nested packages; a file with several names counts once. */
function countBlocks(folder: string, counted: Set<number>): number {
  let blocks = 1;
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) blocks += entry.name === "node_modules" ? 0 : countBlocks(path, counted);
    else {
      const { ino, size } = lstatSync(path);
      if (!counted.has(ino)) blocks += Math.ceil(size / BLOCK_BYTES);
      counted.add(ino);
    }
  }
  return blocks;
}

// Other platforms have other binaries, of similar sizes.
testUnless(linuxMissing, `npm ci installs at most ${LIMIT_MIB} MiB`, () => {
  const { packages } = JSON.parse(readFileSync("package-lock.json", "utf8"));
  const folders = Object.keys(packages).filter((path) => path !== "" && lstatSync(path, { throwIfNoEntry: false }));
  const counted = new Set<number>();
  const blocks = folders.reduce((sum, folder) => sum + countBlocks(folder, counted), 0);
  // Fewer would mean that the packages are not here.
  expect(folders.length).toBeGreaterThan(300);
  expect((blocks * BLOCK_BYTES) / 2 ** 20).toBeLessThan(LIMIT_MIB);
});
