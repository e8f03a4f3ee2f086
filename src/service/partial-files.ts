// Partial files carry their writer's mark in their names: the next download removes those of writers that are gone.
import { randomBytes } from "node:crypto";
import { lstat, readdir, unlink } from "node:fs/promises";
import { join } from "node:path";
import { MARK, ownMark, whereIs } from "../owner.ts";

const PARTIAL = new RegExp(String.raw`\.mic-mcp-(?<mark>${MARK})-[0-9a-f]{8}\.part$`);

/** No finished file may be called so. */
export const isPartialName = (name: string): boolean => PARTIAL.test(name);

/** At most 51 bytes longer than the name. */
export const partialName = (name: string): string =>
  `${name}.mic-mcp-${ownMark}-${randomBytes(4).toString("hex")}.part`;

/** A writer of another machine, or of before the last boot: a stream that brought nothing for so long was given up long ago. */
const ABANDONED_MS = 24 * 3_600_000;

function isLeft(mark: string, writtenAt: number): boolean {
  const where = whereIs(mark);
  return where === "gone" || (where === "elsewhere" && Date.now() - writtenAt > ABANDONED_MS);
}

/** Removes what killed processes left in a download folder. What cannot be looked at or removed stays; that is no failure. */
export async function removeLeftFiles(folder: string): Promise<void> {
  for (const name of await readdir(folder).catch(() => [])) {
    const mark = PARTIAL.exec(name)?.groups?.["mark"];
    if (mark === undefined) continue;
    const path = join(folder, name);
    const found = await lstat(path).catch(() => undefined);
    const isOurs = found?.isFile() === true && (process.getuid === undefined || found.uid === process.getuid());
    if (isOurs && isLeft(mark, found.mtimeMs)) await unlink(path).catch(() => undefined);
  }
}
