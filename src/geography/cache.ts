// Caches the lists of the geography catalog: states for 10 minutes, districts for 6 hours. A districts list of a vintage other
// than the states list's is discarded. The store makes the lists available to other processes.
import * as z from "zod/v4";
import { DistrictsResponse, StatesResponse } from "../contract/playground.ts";
import type { GeographyStore } from "./store.ts";

export const STATES_FRESH_MS = 600_000;
export const DISTRICTS_FRESH_MS = 6 * 3_600_000;
/** Tolerated difference between the clocks of two machines. */
const MAX_CLOCK_SKEW_MS = 5_000;

/** Name of the states list in the store. The name of a districts list is its state's code. */
export const STATES_ENTRY = "states";

/** A response of the API, with the time of its request. */
export interface DatedResponse<T> {
  readonly value: T;
  /** Unknown fields: the contract does not define them. */
  readonly drift: readonly string[];
  /** Time of the request, in milliseconds since 1970. */
  readonly readAt: number;
}

interface CachedDistricts extends DatedResponse<DistrictsResponse> {
  /** Vintage of the states list that was known when this list was read: null if it states none, undefined if none was known. */
  readonly vintage?: string | null;
}

const createEntrySchema = <T extends z.ZodType>(value: T) =>
  z.strictObject({ value, drift: z.array(z.string()), readAt: z.int().min(0), vintage: z.string().nullable() });
const StoredStates = createEntrySchema(StatesResponse);
const StoredDistricts = createEntrySchema(DistrictsResponse);

const getSourceUpdatedAt = ({ sourceUpdatedAt }: Pick<StatesResponse, "sourceUpdatedAt">): string | null =>
  sourceUpdatedAt ?? null;

export type CatalogCache = ReturnType<typeof createCatalogCache>;

/** `onPeerRead` receives the request time of each list that another process read and that is taken from the store. */
export function createCatalogCache(store: GeographyStore, now: () => number, onPeerRead: (readAt: number) => void) {
  let states: DatedResponse<StatesResponse> | undefined;
  let districts = new Map<string, CachedDistricts>();
  /**
   * Request time of the first states list with a changed vintage. A districts list that was requested earlier has an older
   * vintage.
   */
  let vintageChangedAt = Number.NEGATIVE_INFINITY;

  /** A response from the future is not fresh: a clock is or was wrong, so its age is unknown. */
  function ifFresh<T extends { readonly readAt: number }>(response: T | undefined, freshMs: number): T | undefined {
    if (response === undefined) return undefined;
    const ageMs = now() - response.readAt;
    return ageMs >= -MAX_CLOCK_SKEW_MS && ageMs < freshMs ? response : undefined;
  }

  function setStates(response: DatedResponse<StatesResponse>): void {
    const previous = states;
    const vintage = getSourceUpdatedAt(response.value);
    states = response;
    if (previous !== undefined && getSourceUpdatedAt(previous.value) !== vintage) {
      districts = new Map();
      vintageChangedAt = response.readAt;
      return;
    }
    // A list that was loaded from the store before any states list was known may have another vintage.
    for (const [code, { vintage: cachedVintage }] of districts)
      if (cachedVintage !== undefined && cachedVintage !== vintage) districts.delete(code);
  }

  function getDistricts(code: string): DatedResponse<DistrictsResponse> | undefined {
    const response = districts.get(code.toUpperCase());
    // The API may return an empty list for an unknown code (src/contract/open-questions.md, 9). The code may become known, so an
    // empty list is fresh only as long as the states list.
    return ifFresh(response, response?.value.districts.length === 0 ? STATES_FRESH_MS : DISTRICTS_FRESH_MS);
  }

  return {
    getDistricts,
    /** Caches the states list and writes it to the store. Resolves when other processes can read it. */
    async storeStates(response: DatedResponse<StatesResponse>): Promise<void> {
      setStates(response);
      await store.write(STATES_ENTRY, { ...response, vintage: getSourceUpdatedAt(response.value) });
    },
    /** Caches a state's districts and writes them to the store, unless the vintage has changed since their request. */
    async storeDistricts(code: string, response: DatedResponse<DistrictsResponse>): Promise<void> {
      if (response.readAt < vintageChangedAt) return;
      const currentVintage = states && getSourceUpdatedAt(states.value);
      districts.set(code.toUpperCase(), {
        ...response,
        vintage: currentVintage,
      });
      // A list that was read without a states list is stored under the vintage that it states itself.
      const vintage = currentVintage === undefined ? getSourceUpdatedAt(response.value) : currentVintage;
      await store.write(code.toUpperCase(), { ...response, vintage });
    },
    /** Returns the states list if it is fresh, from the store if it is not in memory. */
    async loadStates(): Promise<DatedResponse<StatesResponse> | undefined> {
      if (ifFresh(states, STATES_FRESH_MS) === undefined) {
        const stored = (await store.read([STATES_ENTRY], StoredStates)).get(STATES_ENTRY);
        if (ifFresh(states, STATES_FRESH_MS) === undefined && stored && ifFresh(stored, STATES_FRESH_MS)) {
          setStates(stored);
          onPeerRead(stored.readAt);
        }
      }
      return ifFresh(states, STATES_FRESH_MS);
    },
    /** Loads the fresh districts lists of these states from the store if they are not in memory. */
    async loadDistricts(codes: readonly string[]): Promise<void> {
      const missing = codes.map((code) => code.toUpperCase()).filter((code) => getDistricts(code) === undefined);
      if (missing.length === 0) return;
      for (const [code, stored] of await store.read(missing, StoredDistricts)) {
        if (getDistricts(code) !== undefined || ifFresh(stored, DISTRICTS_FRESH_MS) === undefined) continue;
        if (states !== undefined && stored.vintage !== getSourceUpdatedAt(states.value)) continue;
        districts.set(code, stored);
        onPeerRead(stored.readAt);
      }
    },
  };
}
