// What was read of the catalogue, while it is fresh: states 10 minutes, districts 6 hours, and no districts list of another vintage
// than the states list. The store has it for other processes too.
import * as z from "zod/v4";
import { DistrictsResponse, StatesResponse } from "../contract/playground.ts";
import type { GeographyStore } from "./store.ts";

export const STATES_FRESH_MS = 600_000;
export const DISTRICTS_FRESH_MS = 6 * 3_600_000;
/** Largest possible difference between the clocks of two machines. */
const MAX_CLOCK_SKEW_MS = 5_000;

/** Name of the states list; a districts list has its state's code. */
export const STATES_ENTRY = "states";

/** An answer, and when the API was asked for it. */
export interface DatedResponse<T> {
  readonly value: T;
  /** Fields that the contract does not know. */
  readonly drift: readonly string[];
  /** Milliseconds since 1970. */
  readonly readAt: number;
}

interface CachedDistricts extends DatedResponse<DistrictsResponse> {
  /** Of the states list that was known then (null: it states none); undefined if none was known. */
  readonly vintage?: string | null;
}

const createEntrySchema = <T extends z.ZodType>(value: T) =>
  z.strictObject({ value, drift: z.array(z.string()), readAt: z.int().min(0), vintage: z.string().nullable() });
const StoredStates = createEntrySchema(StatesResponse);
const StoredDistricts = createEntrySchema(DistrictsResponse);

const getSourceUpdatedAt = ({ sourceUpdatedAt }: Pick<StatesResponse, "sourceUpdatedAt">): string | null =>
  sourceUpdatedAt ?? null;

export class CatalogCache {
  readonly #store: GeographyStore;
  readonly #now: () => number;
  readonly #onPeerRead: (readAt: number) => void;
  #states: DatedResponse<StatesResponse> | undefined;
  #districts = new Map<string, CachedDistricts>();
  /** A districts list that was asked for before this is of an older vintage. */
  #vintageChangedAt = Number.NEGATIVE_INFINITY;

  /** `onRecall` gets the time of each request of another process whose list is taken from the store. */
  constructor(store: GeographyStore, now: () => number, onPeerRead: (readAt: number) => void) {
    this.#store = store;
    this.#now = now;
    this.#onPeerRead = onPeerRead;
  }

  getDistricts(code: string): DatedResponse<DistrictsResponse> | undefined {
    const response = this.#districts.get(code.toUpperCase());
    // The API may answer an unknown code with an empty list (doubt 9): soon it may be known.
    return this.#ifFresh(response, response?.value.districts.length === 0 ? STATES_FRESH_MS : DISTRICTS_FRESH_MS);
  }

  /** Resolves when other processes can find it. */
  async storeStates(response: DatedResponse<StatesResponse>): Promise<void> {
    this.#setStates(response);
    await this.#store.write(STATES_ENTRY, { ...response, vintage: getSourceUpdatedAt(response.value) });
  }

  /** The same with a state's districts. */
  async storeDistricts(code: string, response: DatedResponse<DistrictsResponse>): Promise<void> {
    if (response.readAt < this.#vintageChangedAt) return;
    const currentVintage = this.#states && getSourceUpdatedAt(this.#states.value);
    this.#districts.set(code.toUpperCase(), {
      ...response,
      ...(currentVintage !== undefined && { vintage: currentVintage }),
    });
    // A list that was read without a states list is of the vintage that it states itself.
    const vintage = currentVintage === undefined ? getSourceUpdatedAt(response.value) : currentVintage;
    await this.#store.write(code.toUpperCase(), { ...response, vintage });
  }

  /** The fresh states list, from the store if it is not in memory. */
  async loadStates(): Promise<DatedResponse<StatesResponse> | undefined> {
    const freshStates = (): DatedResponse<StatesResponse> | undefined => this.#ifFresh(this.#states, STATES_FRESH_MS);
    if (freshStates() !== undefined) return freshStates();
    const stored = (await this.#store.read([STATES_ENTRY], StoredStates)).get(STATES_ENTRY);
    if (freshStates() === undefined && stored !== undefined && this.#ifFresh(stored, STATES_FRESH_MS) !== undefined) {
      this.#setStates(stored);
      this.#onPeerRead(stored.readAt);
    }
    return freshStates();
  }

  /** Takes these states' districts from the store where they are not in memory. */
  async loadDistricts(codes: readonly string[]): Promise<void> {
    const missing = codes.map((code) => code.toUpperCase()).filter((code) => this.getDistricts(code) === undefined);
    if (missing.length === 0) return;
    for (const [code, stored] of await this.#store.read(missing, StoredDistricts)) {
      if (this.getDistricts(code) !== undefined || this.#ifFresh(stored, DISTRICTS_FRESH_MS) === undefined) continue;
      if (this.#states !== undefined && stored.vintage !== getSourceUpdatedAt(this.#states.value)) continue;
      this.#districts.set(code, stored);
      this.#onPeerRead(stored.readAt);
    }
  }

  #setStates(response: DatedResponse<StatesResponse>): void {
    const previous = this.#states;
    const vintage = getSourceUpdatedAt(response.value);
    this.#states = response;
    if (previous !== undefined && getSourceUpdatedAt(previous.value) !== vintage) {
      this.#districts = new Map();
      this.#vintageChangedAt = response.readAt;
      return;
    }
    // What came from the store before any states list was known may be of another vintage.
    for (const [code, { vintage: cachedVintage }] of this.#districts)
      if (cachedVintage !== undefined && cachedVintage !== vintage) this.#districts.delete(code);
  }

  /** The age of an answer from the future is unknown: some clock is or was wrong. */
  #ifFresh<T extends { readonly readAt: number }>(response: T | undefined, freshMs: number): T | undefined {
    if (response === undefined) return undefined;
    const ageMs = this.#now() - response.readAt;
    return ageMs >= -MAX_CLOCK_SKEW_MS && ageMs < freshMs ? response : undefined;
  }
}
