// What was read of the catalogue, for as long as it may be answered with: states 10 minutes, districts 6 hours, and no district
// list beyond the vintage of the states list it was read beside.
import type { DistrictsResponse, StatesResponse } from "../contract/playground.ts";

export const STATES_FRESH_MS = 600_000;
export const DISTRICTS_FRESH_MS = 6 * 3_600_000;

/** An answer, and when the service was asked for it. */
export interface DatedAnswer<T> {
  readonly value: T;
  /** Fields that the contract does not know. */
  readonly drift: readonly string[];
  readonly readAt: number;
}

export class CatalogueCache {
  readonly #now: () => number;
  #states: DatedAnswer<StatesResponse> | undefined;
  #districts = new Map<string, DatedAnswer<DistrictsResponse>>();
  /** A reading begun before this is of an older vintage. */
  #movedAt = Number.NEGATIVE_INFINITY;

  constructor(now: () => number) {
    this.#now = now;
  }

  get states(): DatedAnswer<StatesResponse> | undefined {
    return this.#fresh(this.#states, STATES_FRESH_MS);
  }

  districtsOf(code: string): DatedAnswer<DistrictsResponse> | undefined {
    const reading = this.#districts.get(code.toUpperCase());
    // An empty list may be how an unknown code is answered (doubt 9): soon it may be known.
    return this.#fresh(reading, reading?.value.districts.length === 0 ? STATES_FRESH_MS : DISTRICTS_FRESH_MS);
  }

  keepStates(reading: DatedAnswer<StatesResponse>): void {
    const before = this.#states;
    this.#states = reading;
    if (before === undefined || before.value.sourceUpdatedAt === reading.value.sourceUpdatedAt) return;
    this.#districts = new Map();
    this.#movedAt = reading.readAt;
  }

  keepDistricts(code: string, reading: DatedAnswer<DistrictsResponse>): void {
    if (reading.readAt >= this.#movedAt) this.#districts.set(code.toUpperCase(), reading);
  }

  #fresh<T>(reading: DatedAnswer<T> | undefined, freshMs: number): DatedAnswer<T> | undefined {
    return reading !== undefined && this.#now() - reading.readAt < freshMs ? reading : undefined;
  }
}
