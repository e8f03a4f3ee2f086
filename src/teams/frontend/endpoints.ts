// The MCP endpoints that have requests in flight: one for each HttpService.
import { createHouse, type House } from "../../mcp/http/house.ts";
import type { HttpService, Served } from "../../mcp/http/port.ts";
import { createStateless } from "./stateless.ts";

interface Entry {
  readonly house: House;
  /** Exchanges in flight, streams among them. */
  open: number;
}

export function createHouses() {
  const entries = new Map<HttpService, Entry>();
  const all = () => [...entries.values()].map(({ house }) => house);

  function entryOf(service: HttpService): Entry {
    const known = entries.get(service);
    if (known) return known;
    const entry = { house: createHouse(service, createStateless(service)), open: 0 };
    entries.set(service, entry);
    return entry;
  }

  return {
    async serveIn(service: HttpService, serve: (house: House) => Promise<Served>): Promise<Served> {
      const entry = entryOf(service);
      entry.open += 1;
      function leave(): void {
        entry.open -= 1;
        if (entry.open === 0) entries.delete(service);
      }
      try {
        const served = await serve(entry.house);
        return {
          redact: service.redact,
          ...served,
          async over(isWhole) {
            try {
              await served.over(isWhole);
            } finally {
              leave();
            }
          },
        };
      } catch (error) {
        leave();
        throw error;
      }
    },

    /** Ends the streams of one house; calls go on. */
    async endStreamsOf(service: HttpService): Promise<void> {
      await entries.get(service)?.house.endStreams();
    },

    async endStreams(): Promise<void> {
      await Promise.all(all().map((house) => house.endStreams()));
    },

    async close(): Promise<void> {
      await Promise.all(all().map((house) => house.close()));
    },
  };
}
