// Finding districts by name: every one that may be meant, and how sure that is. A query may say its state, or be one.
import type { State } from "../contract/playground.ts";
import type { Country, Needs } from "./country.ts";
import { type DistrictRow, districtRows, unreadOf } from "./districts.ts";
import { indexNames, isNamedIn, type NameIndex, type NameMatch, type Search, searchIndex } from "./names/search.ts";
import { stateMeant, stateNamed } from "./names/state.ts";

export interface FoundDistrict extends DistrictRow {
  readonly match: NameMatch;
  readonly score: number;
}

/** How a query was read, where it was not searched for as it stands. */
export interface ReadAs {
  /** What was searched for; absent where the query is a state's name. */
  readonly name?: string;
  /** Code of the state that words of the query were taken for; absent where that state was left out, as it has none such. */
  readonly state?: string;
}

export interface FoundDistricts {
  readonly query: string;
  readonly readAs?: ReadAs;
  readonly matches: readonly FoundDistrict[];
  readonly ambiguous: boolean;
}

/** What was found, and what is said of it. */
export interface Finding {
  readonly answer: FoundDistricts;
  /** How many there are beyond `matches`. */
  readonly left: number;
  /** The query is this state's name. */
  readonly asState?: State;
  /** The query names this state, which has no such district. */
  readonly notIn?: State;
  readonly needs: Needs;
}

/** The longest name of a state has ten words. */
const MAX_STATE_WORDS = 10;

/** What is known of some states' districts at one moment, ready to be searched. */
class Places {
  readonly states: readonly State[];
  readonly unread: readonly State[];
  readonly #country: Country;
  readonly #indexes = new Map<State | undefined, NameIndex<DistrictRow>>();

  constructor(states: readonly State[], country: Country) {
    this.states = states;
    this.unread = unreadOf(states, country);
    this.#country = country;
  }

  /** In all of them, or in one. */
  search(name: string, state?: State): Search<DistrictRow> {
    return searchIndex(name, this.#indexOf(state));
  }

  isNamed(name: string): boolean {
    return isNamedIn(name, this.#indexOf(undefined));
  }

  #indexOf(state: State | undefined): NameIndex<DistrictRow> {
    const states = state === undefined ? this.states : [state];
    const index = this.#indexes.get(state) ?? indexNames(districtRows(states, this.#country), (row) => row.name);
    this.#indexes.set(state, index);
    return index;
  }
}

/** "Lucknow, Uttar Pradesh", "Lucknow (UP)", "Lucknow Uttar Pradesh": a name and the state said behind it. */
function splitQuery(query: string, states: readonly State[]) {
  const [, head = "", tail = ""] = /^(.*?[^,(\s])\s*[,(]\s*([^,()]+?)\s*\)?$/.exec(query) ?? [];
  const said = head === "" ? undefined : stateMeant(tail, states);
  if (said !== undefined) return { name: head, state: said };
  const words = query.trim().split(/\s+/);
  for (let count = Math.min(words.length - 1, MAX_STATE_WORDS); count > 0; count--) {
    const state = stateNamed(words.slice(-count).join(" "), states);
    const name = words.slice(0, -count).join(" ");
    if (state !== undefined && name.length > 1) return { name, state };
  }
  return undefined;
}

/** How a query is to be taken, and which lists that stands on. */
type ReadingPlan = { readonly needs: Needs } & (
  | { readonly kind: "whole" }
  | { readonly kind: "state"; readonly state: State }
  | { readonly kind: "in state" | "elsewhere"; readonly name: string; readonly state: State }
);

function planFor(query: string, places: Places): ReadingPlan {
  const { states, unread } = places;
  // Any state may hold a namesake; but one that bears the name, once found, is enough to answer with.
  const found: Needs = { rows: [], all: unread };
  if (places.isNamed(query)) return { kind: "whole", needs: found };
  const everywhere: ReadingPlan = { kind: "whole", needs: { rows: unread, all: unread } };
  const itself = stateMeant(query, states);
  const split = itself === undefined ? splitQuery(query, states) : undefined;
  const state = itself ?? split?.state;
  if (state === undefined) return everywhere;
  const own = unread.filter(({ code }) => code === state.code);
  const needs: Needs = { rows: own, all: own };
  if (split === undefined) return { kind: "state", state, needs };
  const { name } = split;
  if (own.length > 0 || places.search(name, state).found.length > 0) return { kind: "in state", name, state, needs };
  return places.isNamed(name) ? { kind: "elsewhere", name, state, needs: found } : everywhere;
}

function findIn(query: string, places: Places, limit: number): Finding {
  const plan = planFor(query, places);
  const { kind, needs } = plan;
  const finding = ({ found, ambiguous }: Search<DistrictRow>, readAs?: ReadAs) => {
    const matches = found.slice(0, limit).map(({ item, match, score }) => ({ ...item, match, score }));
    const answer = { query, ...(readAs && { readAs }), matches, ambiguous };
    return { answer, left: found.length - matches.length, needs };
  };
  if (kind === "whole") return finding(places.search(query));
  const { state } = plan;
  if (kind === "state") return { ...finding({ found: [], ambiguous: false }, { state: state.code }), asState: state };
  const { name } = plan;
  if (kind === "in state") return finding(places.search(name, state), { name, state: state.code });
  // The query contradicts the catalogue: which half of it is meant, nobody can know.
  return { ...finding({ ...places.search(name), ambiguous: true }, { name }), notIn: state };
}

/** By names in these states; `limit`: of each one's matches. */
export function findDistricts(
  queries: readonly string[],
  states: readonly State[],
  country: Country,
  limit: number,
): readonly Finding[] {
  const places = new Places(states, country);
  return queries.map((query) => findIn(query, places, limit));
}

export function needsForFinding(queries: readonly string[], states: readonly State[], country: Country): Needs {
  const places = new Places(states, country);
  const needs = queries.map((query) => planFor(query, places).needs);
  const rows = new Set(needs.flatMap((each) => each.rows));
  return { rows: [...rows], all: [...new Set(needs.flatMap((each) => each.all))] };
}

/** Districts that bear the name in states that were not asked about, as far as they happen to be known. */
export function foundElsewhere(name: string, states: readonly State[], country: Country): readonly DistrictRow[] {
  const others = country.states.value.states.filter((state) => !states.includes(state));
  const { found } = new Places(others, country).search(name);
  return found.filter(({ match }) => match !== "similar").map(({ item }) => item);
}
