// Lists as files beside the journal, one for each: several processes write without waiting for each other, and whoever comes last
// has the youngest.
import { createHash } from "node:crypto";
import { lstat, mkdir, open, readdir, readFile, rename, unlink } from "node:fs/promises";
import { join } from "node:path";
import { makePartialFile, removeAbandonedFiles } from "../api-client/new-file.ts";
import { type ListPlace, OLD_MS } from "./store.ts";

/** Nothing of ours is larger: 256 districts with long names. */
const MAX_BYTES = 1024 * 1024;

const FILE = /^[0-9a-f]{16}-(?:states|[A-Z]{2})\.json$/;

const nameOf = (baseUrl: string, list: string): string =>
  `${createHash("sha256").update(baseUrl).digest("hex").slice(0, 16)}-${list}.json`;

async function parsed(path: string): Promise<unknown> {
  const found = await lstat(path);
  if (!found.isFile() || found.size > MAX_BYTES) return undefined;
  return JSON.parse(await readFile(path, "utf8"));
}

/** Written beside its place and put there whole: nobody reads a part of it. */
async function replaceFile(folder: string, name: string, text: string): Promise<void> {
  const part = await makePartialFile(folder);
  try {
    const file = await open(part.path, "wx", 0o600);
    try {
      await file.writeFile(text);
    } finally {
      await file.close();
    }
    await rename(part.path, join(folder, name));
  } finally {
    await part.remove();
  }
}

/** What nobody will answer with any more: lists of services that are asked no longer, partial files of killed processes. */
async function removeOldFiles(folder: string, now: number): Promise<void> {
  for (const name of await readdir(folder)) {
    const path = join(folder, name);
    const found = FILE.test(name) ? await lstat(path).catch(() => undefined) : undefined;
    if (found?.isFile() && now - found.mtimeMs > OLD_MS) await unlink(path).catch(() => undefined);
  }
  await removeAbandonedFiles(folder);
}

export interface ListFilesOptions {
  /** That of the action journal. */
  readonly stateDir: string;
  readonly now: () => number;
}

export function listFiles({ stateDir, now }: ListFilesOptions): ListPlace {
  const folder = join(stateDir, "geography");
  let prepared: Promise<void> | undefined;

  async function prepare(): Promise<void> {
    // As the journal makes it: whoever comes first.
    await mkdir(folder, { recursive: true, mode: 0o700 });
    await removeOldFiles(folder, now());
  }

  return {
    read: (service, list) => parsed(join(folder, nameOf(service, list))),
    async write(service, list, text) {
      prepared ??= prepare();
      try {
        await prepared;
        await replaceFile(folder, nameOf(service, list), text);
      } catch (error) {
        // The folder may have gone meanwhile: the next list makes it anew.
        prepared = undefined;
        throw error;
      }
    },
    async close() {},
  };
}
