// What was read of the catalogue, for as long as it may be answered with: states 10 minutes, districts 6 hours, and no district
// list beyond the vintage of the states list it was read beside. Kept on disk too, for the processes that come after.
import type { DistrictsResponse, StatesResponse } from "../contract/playground.ts";
import type { GeographyStore } from "./store.ts";

export const STATES_FRESH_MS = 600_000;
export const DISTRICTS_FRESH_MS = 6 * 3_600_000;

/** An answer, and when the service was asked for it. */
export interface DatedAnswer<T> {
  readonly value: T;
  /** Fields that the contract does not know. */
  readonly drift: readonly string[];
  readonly readAt: number;
}

interface KeptDistricts extends DatedAnswer<DistrictsResponse> {
  /** Of the states list that it was read beside; undefined where none was known. */
  readonly vintage?: string | null;
}

type Dated = Pick<StatesResponse, "sourceUpdatedAt">;

const vintageOf = ({ sourceUpdatedAt }: Dated): string | null => sourceUpdatedAt ?? null;

export class CatalogueCache {
  readonly #now: () => number;
  readonly #store: GeographyStore | undefined;
  #states: DatedAnswer<StatesResponse> | undefined;
  #districts = new Map<string, KeptDistricts>();
  /** A reading begun before this is of an older vintage. */
  #movedAt = Number.NEGATIVE_INFINITY;

  constructor(now: () => number, store: GeographyStore | undefined) {
    this.#now = now;
    this.#store = store;
  }

  get states(): DatedAnswer<StatesResponse> | undefined {
    return this.#fresh(this.#states, STATES_FRESH_MS);
  }

  districtsOf(code: string): DatedAnswer<DistrictsResponse> | undefined {
    const reading = this.#districts.get(code.toUpperCase());
    // An empty list may be how an unknown code is answered (doubt 9): soon it may be known.
    return this.#fresh(reading, reading?.value.districts.length === 0 ? STATES_FRESH_MS : DISTRICTS_FRESH_MS);
  }

  /** Resolves when other processes find it. */
  async keepStates(reading: DatedAnswer<StatesResponse>): Promise<void> {
    this.#takeStates(reading);
    await this.#store?.keepStates({ ...reading, vintage: vintageOf(reading.value) });
  }

  /** The same with a state's districts. */
  async keepDistricts(code: string, reading: DatedAnswer<DistrictsResponse>): Promise<void> {
    if (reading.readAt < this.#movedAt) return;
    const beside = this.#states && vintageOf(this.#states.value);
    this.#districts.set(code.toUpperCase(), { ...reading, ...(beside !== undefined && { vintage: beside }) });
    // A list that stands alone on disk is held to the vintage that it states itself.
    const vintage = beside === undefined ? vintageOf(reading.value) : beside;
    await this.#store?.keepDistricts(code.toUpperCase(), { ...reading, vintage });
  }

  /** Takes the states list from the disk, where it is needed and fresh there. */
  async recallStates(): Promise<void> {
    if (this.#store === undefined || this.states !== undefined) return;
    const stored = await this.#store.readStates();
    if (stored !== undefined && this.states === undefined && this.#fresh(stored, STATES_FRESH_MS) !== undefined)
      this.#takeStates(stored);
  }

  /** The same with these states' districts. */
  async recallDistricts(codes: readonly string[]): Promise<void> {
    await Promise.all(codes.map((code) => this.#recallDistricts(code.toUpperCase())));
  }

  async #recallDistricts(code: string): Promise<void> {
    if (this.#store === undefined || this.districtsOf(code) !== undefined) return;
    const stored = await this.#store.readDistricts(code);
    if (stored === undefined || this.districtsOf(code) !== undefined) return;
    if (this.#states === undefined || stored.vintage === vintageOf(this.#states.value))
      this.#districts.set(code, stored);
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
    // What came from the disk before any states list was known may be of another vintage.
    for (const [code, kept] of this.#districts)
      if (kept.vintage !== undefined && kept.vintage !== vintage) this.#districts.delete(code);
  }

  #fresh<T>(reading: DatedAnswer<T> | undefined, freshMs: number): DatedAnswer<T> | undefined {
    return reading !== undefined && this.#now() - reading.readAt < freshMs ? reading : undefined;
  }
}
