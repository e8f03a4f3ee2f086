// Lists that were read, kept for other processes: those that run beside this one, and those that start with the next chat. What
// cannot be read is not there, what cannot be written is not kept: neither ever costs an answer.
import * as z from "zod/v4";
import { DistrictsResponse, StatesResponse } from "../contract/playground.ts";

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

/** Where lists are kept, as JSON: files (list-files.ts), or a table (list-table.ts). Its methods may reject. */
export interface ListPlace {
  /** Undefined where there is none. */
  read(service: string, list: string): Promise<unknown>;
  /** Puts it there whole, in place of what was there. */
  write(service: string, list: string, text: string): Promise<void>;
  close(): Promise<void>;
}

/** No list is answered with for longer than the six hours of the districts (cache.ts): what is older goes. */
export const OLD_MS = 24 * 3_600_000;

/** So far the clocks of two machines may be apart. */
const SKEW_MS = 5_000;

const STATES = "states";

const keptSchema = <T extends z.ZodType>(value: T) =>
  z.strictObject({
    format: z.literal(1),
    baseUrl: z.string(),
    list: z.string(),
    readAt: z.int().min(0),
    vintage: z.string().nullable(),
    drift: z.array(z.string()),
    value,
  });

const KeptStates = keptSchema(StatesResponse);
const KeptDistricts = keptSchema(DistrictsResponse);

export interface GeographyStoreOptions {
  readonly place: ListPlace;
  /** Whose lists they are. Throws Failure where no service is configured. */
  readonly baseUrl: () => Promise<string>;
  readonly now: () => number;
}

export function createGeographyStore({ place, baseUrl, now }: GeographyStoreOptions): GeographyStore {
  const writing = new Set<Promise<void>>();

  async function read<T>(
    list: string,
    schema: z.ZodType<StoredList<T> & { readonly baseUrl: string; readonly list: string }>,
  ): Promise<StoredList<T> | undefined> {
    try {
      const url = await baseUrl();
      const kept = schema.safeParse(await place.read(url, list));
      if (!kept.success || kept.data.baseUrl !== url || kept.data.list !== list) return undefined;
      const { value, drift, readAt, vintage } = kept.data;
      // Of the future, by a clock that was wrong then or is now: nobody knows how old it is.
      return readAt > now() + SKEW_MS ? undefined : { value, drift, readAt, vintage };
    } catch {
      return undefined;
    }
  }

  async function write(list: string, { value, drift, readAt, vintage }: StoredList<unknown>): Promise<void> {
    const url = await baseUrl();
    await place.write(url, list, JSON.stringify({ format: 1, baseUrl: url, list, readAt, vintage, drift, value }));
  }

  async function keep(list: string, reading: StoredList<unknown>): Promise<void> {
    const work = write(list, reading).catch(() => undefined);
    writing.add(work);
    await work;
    writing.delete(work);
  }

  return {
    readStates: () => read(STATES, KeptStates),
    readDistricts: (code) => read(code, KeptDistricts),
    keepStates: (reading) => keep(STATES, reading),
    keepDistricts: keep,
    async close() {
      await Promise.all(writing);
      await place.close().catch(() => undefined);
    },
  };
}
