// What is known of some states' districts at one moment, ready to be searched. A list is indexed once, as long as it is kept.
import { setImmediate as nextTurn } from "node:timers/promises";
import type { DistrictsResponse, State } from "../../contract/playground.ts";
import type { Country } from "../country.ts";
import { type DistrictRow, districtRows, unreadOf } from "../districts.ts";
import {
  indexNames,
  isListedIn,
  isNamedIn,
  type NameIndex,
  namedBoth,
  partOfNames,
  type Search,
  searchIndexes,
} from "./search.ts";

interface Indexed {
  readonly state: State;
  readonly index: NameIndex<DistrictRow>;
}

const kept = new WeakMap<DistrictsResponse, Indexed>();

const isIndexed = (state: State, list: DistrictsResponse): boolean => {
  const known = kept.get(list)?.state;
  return known?.name === state.name && known.code === state.code;
};

/** Undefined while its list is unread. */
function indexOf(state: State, country: Country): NameIndex<DistrictRow> | undefined {
  const list = country.lists.get(state.code)?.value;
  if (list === undefined) return undefined;
  const known = kept.get(list);
  if (known !== undefined && isIndexed(state, list)) return known.index;
  const index = indexNames(districtRows([state], country), ({ name }) => name, state);
  kept.set(list, { state, index });
  return index;
}

export class Places {
  readonly states: readonly State[];
  readonly unread: readonly State[];
  /** Of the whole country, whichever ones are asked about. */
  readonly allStates: readonly State[];
  readonly #country: Country;

  /** Indexes the cached lists first. Never holds the event loop for more than one list. */
  static async open(states: readonly State[], country: Country): Promise<Places> {
    for (const state of states) {
      const list = country.lists.get(state.code)?.value;
      if (list === undefined || isIndexed(state, list)) continue;
      indexOf(state, country);
      await nextTurn();
    }
    return new Places(states, country);
  }

  constructor(states: readonly State[], country: Country) {
    this.states = states;
    this.allStates = country.states.value.states;
    this.unread = unreadOf(states, country);
    this.#country = country;
  }

  /** In all of them, or in one. */
  search(name: string, state?: State): Search<DistrictRow> {
    return searchIndexes(name, this.#indexes(state), ({ name }) => name);
  }

  isNamed(name: string, state?: State): boolean {
    return isNamedIn(name, this.#indexes(state));
  }

  /** Whether two names are of one district. */
  areOfOne(name: string, other: string): boolean {
    return namedBoth(name, other, this.#indexes()).length === 1;
  }

  /** Of how many names it is a part. */
  partOf(name: string): number {
    return partOfNames(name, this.#indexes());
  }

  /** Undefined while the state's list is unread. */
  isListed(district: string, state: State): boolean | undefined {
    const index = indexOf(state, this.#country);
    return index && isListedIn(district, [index]);
  }

  #indexes(state?: State): readonly NameIndex<DistrictRow>[] {
    return (state === undefined ? this.states : [state]).flatMap((each) => indexOf(each, this.#country) ?? []);
  }
}
