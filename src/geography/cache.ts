// What was read of the catalogue, while it is fresh: states 10 minutes, districts 6 hours, and no districts list of another vintage
// than the states list. The store has it for other processes too.
import * as z from "zod/v4";
import { DistrictsResponse, StatesResponse } from "../contract/playground.ts";
import type { GeographyStore } from "./store.ts";

export const STATES_FRESH_MS = 600_000;
export const DISTRICTS_FRESH_MS = 6 * 3_600_000;
/** Largest possible difference between the clocks of two machines. */
const SKEW_MS = 5_000;

/** Name of the states list; a districts list has its state's code. */
export const STATES = "states";

/** An answer, and when the API was asked for it. */
export interface DatedAnswer<T> {
  readonly value: T;
  /** Fields that the contract does not know. */
  readonly drift: readonly string[];
  /** Milliseconds since 1970. */
  readonly readAt: number;
}

interface CachedDistricts extends DatedAnswer<DistrictsResponse> {
  /** Of the states list that was known then (null: it states none); undefined if none was known. */
  readonly vintage?: string | null;
}

const storedSchema = <T extends z.ZodType>(value: T) =>
  z.strictObject({ value, drift: z.array(z.string()), readAt: z.int().min(0), vintage: z.string().nullable() });
const StoredStates = storedSchema(StatesResponse);
const StoredDistricts = storedSchema(DistrictsResponse);

const vintageOf = ({ sourceUpdatedAt }: Pick<StatesResponse, "sourceUpdatedAt">): string | null =>
  sourceUpdatedAt ?? null;

export class CatalogueCache {
  readonly #store: GeographyStore;
  readonly #now: () => number;
  readonly #onRecall: (readAt: number) => void;
  #states: DatedAnswer<StatesResponse> | undefined;
  #districts = new Map<string, CachedDistricts>();
  /** A districts list that was asked for before this is of an older vintage. */
  #movedAt = Number.NEGATIVE_INFINITY;

  /** `onRecall` gets the time of each request of another process whose list is taken from the store. */
  constructor(store: GeographyStore, now: () => number, onRecall: (readAt: number) => void) {
    this.#store = store;
    this.#now = now;
    this.#onRecall = onRecall;
  }

  districtsOf(code: string): DatedAnswer<DistrictsResponse> | undefined {
    const reading = this.#districts.get(code.toUpperCase());
    // The API may answer an unknown code with an empty list (doubt 9): soon it may be known.
    return this.#fresh(reading, reading?.value.districts.length === 0 ? STATES_FRESH_MS : DISTRICTS_FRESH_MS);
  }

  /** Resolves when other processes can find it. */
  async keepStates(reading: DatedAnswer<StatesResponse>): Promise<void> {
    this.#takeStates(reading);
    await this.#store.write(STATES, { ...reading, vintage: vintageOf(reading.value) });
  }

  /** The same with a state's districts. */
  async keepDistricts(code: string, reading: DatedAnswer<DistrictsResponse>): Promise<void> {
    if (reading.readAt < this.#movedAt) return;
    const current = this.#states && vintageOf(this.#states.value);
    this.#districts.set(code.toUpperCase(), { ...reading, ...(current !== undefined && { vintage: current }) });
    // A list that was read without a states list is of the vintage that it states itself.
    const vintage = current === undefined ? vintageOf(reading.value) : current;
    await this.#store.write(code.toUpperCase(), { ...reading, vintage });
  }

  /** The fresh states list, from the store if it is not in memory. */
  async recallStates(): Promise<DatedAnswer<StatesResponse> | undefined> {
    const known = (): DatedAnswer<StatesResponse> | undefined => this.#fresh(this.#states, STATES_FRESH_MS);
    if (known() !== undefined) return known();
    const stored = (await this.#store.read([STATES], StoredStates)).get(STATES);
    if (known() === undefined && stored !== undefined && this.#fresh(stored, STATES_FRESH_MS) !== undefined) {
      this.#takeStates(stored);
      this.#onRecall(stored.readAt);
    }
    return known();
  }

  /** Takes these states' districts from the store where they are not in memory. */
  async recallDistricts(codes: readonly string[]): Promise<void> {
    const missing = codes.map((code) => code.toUpperCase()).filter((code) => this.districtsOf(code) === undefined);
    if (missing.length === 0) return;
    for (const [code, stored] of await this.#store.read(missing, StoredDistricts)) {
      if (this.districtsOf(code) !== undefined || this.#fresh(stored, DISTRICTS_FRESH_MS) === undefined) continue;
      if (this.#states !== undefined && stored.vintage !== vintageOf(this.#states.value)) continue;
      this.#districts.set(code, stored);
      this.#onRecall(stored.readAt);
    }
  }

  #takeStates(reading: DatedAnswer<StatesResponse>): void {
    const before = this.#states;
    const vintage = vintageOf(reading.value);
    this.#states = reading;
    if (before !== undefined && vintageOf(before.value) !== vintage) {
      this.#districts = new Map();
      this.#movedAt = reading.readAt;
      return;
    }
    // What came from the store before any states list was known may be of another vintage.
    for (const [code, { vintage: own }] of this.#districts)
      if (own !== undefined && own !== vintage) this.#districts.delete(code);
  }

  /** The age of an answer from the future is unknown: some clock is or was wrong. */
  #fresh<T extends { readonly readAt: number }>(reading: T | undefined, freshMs: number): T | undefined {
    if (reading === undefined) return undefined;
    const ageMs = this.#now() - reading.readAt;
    return ageMs >= -SKEW_MS && ageMs < freshMs ? reading : undefined;
  }
}
