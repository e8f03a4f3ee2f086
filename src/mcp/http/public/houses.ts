// The houses of those who are here: one for each HttpService that guests are given, made when somebody enters, closed when it has
// long been empty or another needs the room.
import { reasonOf } from "../../../failure.ts";
import type { House } from "../house.ts";
import type { HttpService, Served } from "../port.ts";

export interface HousesOptions {
  /** At most so many, as far as empty ones can make room. */
  readonly max: number;
  readonly idleMs: number;
}

interface Entry {
  readonly house: House;
  readonly service: HttpService;
  /** Exchanges under way, streams among them. */
  open: number;
  idle?: NodeJS.Timeout;
}

export function createHouses({ max, idleMs }: HousesOptions) {
  /** Ordered by when they fell empty. */
  const entries = new Map<HttpService, Entry>();
  /** Still closing. */
  const closing = new Set<Promise<void>>();

  function leave(entry: Entry): void {
    clearTimeout(entry.idle);
    entries.delete(entry.service);
    const { log } = entry.service;
    const closed = entry.house
      .close()
      .catch((error: unknown) => log.warn({ reason: reasonOf(error) }, "a house did not close well"))
      .finally(() => closing.delete(closed));
    closing.add(closed);
  }

  function makeRoom(): void {
    if (entries.size < max) return;
    const empty = [...entries.values()].find(({ open }) => open === 0);
    if (empty) leave(empty);
  }

  function entryOf(service: HttpService, open: () => House): Entry {
    const known = entries.get(service);
    if (known) return known;
    makeRoom();
    const entry = { house: open(), service, open: 0 };
    entries.set(service, entry);
    return entry;
  }

  function left(entry: Entry): void {
    entry.open -= 1;
    // One that was closed in the meantime stays so.
    if (entry.open > 0 || !entries.delete(entry.service)) return;
    entries.set(entry.service, entry);
    entry.idle = setTimeout(() => leave(entry), idleMs).unref();
  }

  return {
    /** `open`: makes the house where there is none. */
    async serveIn(service: HttpService, open: () => House, serve: (house: House) => Promise<Served>): Promise<Served> {
      const entry = entryOf(service, open);
      clearTimeout(entry.idle);
      entry.open += 1;
      try {
        const served = await serve(entry.house);
        return {
          redact: service.redact,
          ...served,
          async over(isWhole) {
            try {
              await served.over(isWhole);
            } finally {
              left(entry);
            }
          },
        };
      } catch (error) {
        left(entry);
        throw error;
      }
    },

    /** Ends the streams of one house; calls go on. */
    async endStreamsOf(service: HttpService): Promise<void> {
      await entries.get(service)?.house.endStreams();
    },

    async endStreams(): Promise<void> {
      await Promise.all([...entries.values()].map(({ house }) => house.endStreams()));
    },

    async close(): Promise<void> {
      for (const entry of [...entries.values()]) leave(entry);
      await Promise.all(closing);
    },
  };
}
