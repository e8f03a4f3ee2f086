// Partial files: each is written in a new hidden folder inside its target folder. A killed process leaves that folder behind.
import { lstat, mkdtemp, readdir, rm } from "node:fs/promises";
import { join } from "node:path";

const PREFIX = ".mic-mcp-part-";
const FILE = "part";
const ABANDONED_MS = 24 * 3_600_000;

export interface PartialFile {
  /** Does not exist yet. */
  readonly path: string;
  /** Call this when the file has its final name, or was given up. */
  remove(): Promise<void>;
}

/** Throws the file system's error. */
export async function makePartialFile(folder: string): Promise<PartialFile> {
  const own = await mkdtemp(join(folder, PREFIX));
  return {
    path: join(own, FILE),
    remove: () => rm(own, { recursive: true, force: true }).catch(() => undefined),
  };
}

/** Removes the partial files that no process has written to for a day. Errors are ignored: the next call tries again. */
export async function removeAbandonedFiles(folder: string): Promise<void> {
  for (const name of await readdir(folder).catch(() => [])) {
    if (!name.startsWith(PREFIX)) continue;
    const own = join(folder, name);
    const isFolder = (await lstat(own).catch(() => undefined))?.isDirectory() === true;
    const written = isFolder ? await lstat(join(own, FILE)).catch(() => lstat(own).catch(() => undefined)) : undefined;
    if (written !== undefined && Date.now() - written.mtimeMs > ABANDONED_MS)
      await rm(own, { recursive: true, force: true }).catch(() => undefined);
  }
}
