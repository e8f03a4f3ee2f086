// Lists on disk, beside the journal, so that a server that starts with each chat is warm. A file for each list: several
// processes write without waiting for each other, and whoever comes last has the youngest. What cannot be read is not
// there, what cannot be written is not kept: neither ever costs an answer.
import { createHash } from "node:crypto";
import { lstat, mkdir, open, readdir, readFile, rename, unlink } from "node:fs/promises";
import { join } from "node:path";
import * as z from "zod/v4";
import { DistrictsResponse, StatesResponse } from "../contract/playground.ts";
import { partialName, removeLeftFiles } from "../service/partial-files.ts";

/** What was read, when, and beside which vintage of the states list. */
export interface StoredList<T> {
  readonly value: T;
  readonly drift: readonly string[];
  readonly readAt: number;
  /** `sourceUpdatedAt` of the states list known then; null where it stated none. */
  readonly vintage: string | null;
}

export interface GeographyStore {
  readStates(): Promise<StoredList<StatesResponse> | undefined>;
  readDistricts(code: string): Promise<StoredList<DistrictsResponse> | undefined>;
  /** Resolves when it is there, or cannot be. */
  keepStates(list: StoredList<StatesResponse>): Promise<void>;
  /** The same with a state's districts. */
  keepDistricts(code: string, list: StoredList<DistrictsResponse>): Promise<void>;
  /** Resolves when all that was to be kept is. */
  close(): Promise<void>;
}

/** Nothing of ours is larger: 256 districts with long names. */
const MAX_BYTES = 1024 * 1024;
/** No list is answered with for longer than the six hours of the districts (cache.ts). */
const OLD_MS = 24 * 3_600_000;

const FILE = /^[0-9a-f]{16}-(?:states|[A-Z]{2})\.json$/;
const STATES = "states";

const fileSchema = <T extends z.ZodType>(value: T) =>
  z.strictObject({
    format: z.literal(1),
    baseUrl: z.string(),
    list: z.string(),
    readAt: z.int().min(0),
    vintage: z.string().nullable(),
    drift: z.array(z.string()),
    value,
  });

const StatesFile = fileSchema(StatesResponse);
const DistrictsFile = fileSchema(DistrictsResponse);

const nameOf = (baseUrl: string, list: string): string =>
  `${createHash("sha256").update(baseUrl).digest("hex").slice(0, 16)}-${list}.json`;

async function parsed(path: string): Promise<unknown> {
  const found = await lstat(path);
  if (!found.isFile() || found.size > MAX_BYTES) return undefined;
  return JSON.parse(await readFile(path, "utf8"));
}

/** Written beside its place and put there whole: nobody reads a part of it. */
async function replaceFile(folder: string, name: string, text: string): Promise<void> {
  const part = join(folder, partialName(name));
  try {
    const file = await open(part, "wx", 0o600);
    try {
      await file.writeFile(text);
    } finally {
      await file.close();
    }
    await rename(part, join(folder, name));
  } catch (error) {
    await unlink(part).catch(() => undefined);
    throw error;
  }
}

/** What nobody will answer with any more: lists of services that are asked no longer, parts of processes that were killed. */
async function removeOldFiles(folder: string, now: number): Promise<void> {
  for (const name of await readdir(folder)) {
    const path = join(folder, name);
    const found = FILE.test(name) ? await lstat(path).catch(() => undefined) : undefined;
    if (found?.isFile() && now - found.mtimeMs > OLD_MS) await unlink(path).catch(() => undefined);
  }
  await removeLeftFiles(folder);
}

export interface GeographyStoreOptions {
  /** That of the action journal. */
  readonly stateDir: string;
  /** Whose lists they are. Throws Failure where no service is configured. */
  readonly baseUrl: () => Promise<string>;
  readonly now: () => number;
}

export function createGeographyStore({ stateDir, baseUrl, now }: GeographyStoreOptions): GeographyStore {
  const folder = join(stateDir, "geography");
  const writing = new Set<Promise<void>>();
  let prepared: Promise<void> | undefined;

  async function read<T>(
    list: string,
    schema: z.ZodType<StoredList<T> & { readonly baseUrl: string; readonly list: string }>,
  ): Promise<StoredList<T> | undefined> {
    try {
      const url = await baseUrl();
      const file = schema.safeParse(await parsed(join(folder, nameOf(url, list))));
      if (!file.success || file.data.baseUrl !== url || file.data.list !== list) return undefined;
      const { value, drift, readAt, vintage } = file.data;
      // Of the future, by a clock that was wrong then or is now: nobody knows how old it is.
      return readAt > now() ? undefined : { value, drift, readAt, vintage };
    } catch {
      return undefined;
    }
  }

  async function prepare(): Promise<void> {
    // As the journal makes it: whoever comes first.
    await mkdir(folder, { recursive: true, mode: 0o700 });
    await removeOldFiles(folder, now());
  }

  async function write(list: string, { value, drift, readAt, vintage }: StoredList<unknown>): Promise<void> {
    const url = await baseUrl();
    prepared ??= prepare();
    await prepared;
    const text = JSON.stringify({ format: 1, baseUrl: url, list, readAt, vintage, drift, value });
    await replaceFile(folder, nameOf(url, list), text);
  }

  async function keep(list: string, reading: StoredList<unknown>): Promise<void> {
    const work = write(list, reading).catch(() => {
      // The folder may have gone meanwhile: the next list makes it anew.
      prepared = undefined;
    });
    writing.add(work);
    await work;
    writing.delete(work);
  }

  return {
    readStates: () => read(STATES, StatesFile),
    readDistricts: (code) => read(code, DistrictsFile),
    keepStates: (reading) => keep(STATES, reading),
    keepDistricts: keep,
    async close() {
      await Promise.all(writing);
    },
  };
}
