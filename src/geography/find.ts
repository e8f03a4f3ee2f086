// Finding districts by name: every one that may be meant, and how sure that is. A query may say its state, or be one.
import { setImmediate as nextTurn } from "node:timers/promises";
import type { State } from "../contract/playground.ts";
import type { Country, Needs } from "./country.ts";
import type { DistrictRow } from "./districts.ts";
import type { NameKind } from "./names/known-names.ts";
import { Places } from "./names/places.ts";
import { type NameInState, readQuery } from "./names/query.ts";
import { isUnreadable } from "./names/scripts.ts";
import type { NameMatch } from "./names/search.ts";
import { stateMeant } from "./names/state.ts";
import { type Unlisted, unlistedAs } from "./names/unlisted.ts";

export interface FoundDistrict extends DistrictRow {
  readonly match: NameMatch;
  /** Of an alias; "city" of a seat that is none. */
  readonly kind?: NameKind;
  /** When a former name was replaced by today's. */
  readonly since?: number;
  /** The district's other name that the query is like. */
  readonly via?: string;
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
  /** The query names this state, which has the matches. */
  readonly inState?: State;
  /** The query names this state, which has no such district. */
  readonly notIn?: State;
  /** What the public record knows of the name, which the list does not have. */
  readonly unlisted?: Unlisted;
  /** Of how many names, all of them guesses, it is a part. */
  readonly partOf?: number;
  /** It is in letters that are not read. */
  readonly isUnreadable?: true;
  readonly needs: Needs;
}

/** A likeness within the state that was said, by which it is followed there even if a namesake is elsewhere. */
const LIKE_IN_STATE = 0.85;

/** How a query is to be taken, and which lists that stands on. */
type ReadingPlan = {
  readonly needs: Needs;
  /** Nothing else that the query may mean comes before it: its state's list is still to be read, or bears the name. */
  readonly isCertain?: true;
} & (
  | { readonly kind: "whole"; readonly name: string }
  | { readonly kind: "state"; readonly state: State }
  | { readonly kind: "in state" | "elsewhere"; readonly name: string; readonly state: State }
);

/** A name with its state, by what is known of that state's list and of the others. */
function planInStates(inStates: readonly NameInState[], whole: string, places: Places): ReadingPlan | undefined {
  const splits = inStates.filter(({ state }) => places.states.includes(state));
  const [first] = splits;
  if (first === undefined) {
    // A state was asked about, and the query says another one.
    const [other] = inStates;
    const needs = { rows: places.unread, all: places.unread };
    return other === undefined ? undefined : { kind: "elsewhere", ...other, needs };
  }
  const said = splits.map(({ state }) => state);
  const own = places.unread.filter((state) => said.includes(state));
  const needs: Needs = { rows: own, all: own };
  if (own.length > 0) return { kind: "in state", ...first, needs, isCertain: true };
  const scoreOf = ({ name, state }: NameInState): number => places.search(name, state).found[0]?.score ?? 0;
  const named = splits.find(({ name, state }) => places.isNamed(name, state));
  if (named !== undefined) return { kind: "in state", ...named, needs, isCertain: true };
  const like = splits.find((split) => scoreOf(split) >= LIKE_IN_STATE);
  if (like !== undefined) return { kind: "in state", ...like, needs };
  const { unread } = places;
  if (places.isNamed(first.name)) return { kind: "elsewhere", ...first, needs: { rows: [], all: unread } };
  const guess = splits.find((split) => scoreOf(split) > 0);
  const isWholeLike = guess === undefined && places.search(whole).found.length > 0;
  return isWholeLike ? undefined : { kind: "in state", ...(guess ?? first), needs: { rows: unread, all: unread } };
}

/** A district may be called as its state is: that is known when the state's own list is. */
function stateAlone(state: State, unread: readonly State[]): ReadingPlan {
  const own = unread.filter(({ code }) => code === state.code);
  return { kind: "state", state, needs: { rows: own, all: own } };
}

function planFor(query: string, places: Places): ReadingPlan {
  const { allStates, unread } = places;
  const { name, state, inStates, pairs } = readQuery(query, allStates);
  // Any state may hold a namesake; but one that bears the name, once found, is enough to answer with.
  const found: Needs = { rows: [], all: unread };
  if (places.isNamed(query)) return { kind: "whole", name: query, needs: found };
  if (state !== undefined && (name === query || stateMeant(query, allStates) === state))
    return stateAlone(state, unread);
  if (places.isNamed(name)) return { kind: "whole", name, needs: found };
  if (state !== undefined) return stateAlone(state, unread);
  const inState = planInStates(inStates, name, places);
  if (inState?.isCertain) return inState;
  const pair = pairs.find(([one, other]) => places.areOfOne(one, other));
  if (pair !== undefined)
    return { kind: "whole", name: pair.find((each) => !places.search(each).ambiguous) ?? pair[0], needs: found };
  return inState ?? { kind: "whole", name, needs: { rows: unread, all: unread } };
}

/** What the record says of a name, where no district of the list bears it. */
function unlistedFor(
  names: readonly string[],
  states: readonly State[],
  best: FoundDistrict | undefined,
  places: Places,
): Unlisted | undefined {
  if (best?.match === "exact" || (best?.match === "alias" && best.kind !== "short")) return undefined;
  return unlistedAs(names, states, (district, state) => places.isListed(district, state));
}

/** `limit`: of the matches. */
export function findDistrict(query: string, places: Places, limit: number): Finding {
  const plan = planFor(query, places);
  const { kind, needs } = plan;
  if (kind === "state") {
    const { state } = plan;
    const answer = { query, readAs: { state: state.code }, matches: [], ambiguous: false };
    return { answer, left: 0, asState: state, needs };
  }
  const { name } = plan;
  const state = kind === "whole" ? undefined : plan.state;
  const search = places.search(name, kind === "in state" ? state : undefined);
  const matches = search.found.slice(0, limit).map(({ item, ...rest }) => ({ ...item, ...rest }));
  const among = kind === "in state" && state !== undefined ? [state] : places.states;
  const unlisted = unlistedFor([name, query], among, matches[0], places);
  const isGuess = matches.every(({ match }) => match === "similar");
  const partOf = isGuess ? places.partOf(name) : 0;
  const readAs = { ...(name !== query && { name }), ...(kind === "in state" && state && { state: state.code }) };
  // A query that contradicts the catalogue: which half of it is meant, nobody can know.
  const ambiguous = search.ambiguous || (matches.length > 0 && (kind === "elsewhere" || unlisted !== undefined));
  return {
    answer: { query, ...(Object.keys(readAs).length > 0 && { readAs }), matches, ambiguous },
    left: search.found.length - matches.length,
    ...(state !== undefined && kind === "in state" && { inState: state }),
    ...(state !== undefined && kind === "elsewhere" && places.states.includes(state) && { notIn: state }),
    ...(unlisted && { unlisted }),
    ...(partOf > 0 && { partOf }),
    ...(isUnreadable(query) && { isUnreadable: true }),
    needs,
  };
}

/** Applies `work` to each name, in a turn of the event loop of its own: 50 names in one turn would block it. */
async function forEachName<T>(queries: readonly string[], work: (query: string) => T): Promise<readonly T[]> {
  const results: T[] = [];
  for (const query of queries) {
    results.push(work(query));
    await nextTurn();
  }
  return results;
}

/** By names in these states; `limit`: of each one's matches. */
export async function findDistricts(
  queries: readonly string[],
  states: readonly State[],
  country: Country,
  limit: number,
): Promise<readonly Finding[]> {
  const places = await Places.open(states, country);
  return await forEachName(queries, (query) => findDistrict(query, places, limit));
}

export async function needsForFinding(
  queries: readonly string[],
  states: readonly State[],
  country: Country,
): Promise<Needs> {
  const places = await Places.open(states, country);
  const needs = await forEachName(queries, (query) => planFor(query, places).needs);
  const rows = new Set(needs.flatMap((each) => each.rows));
  return { rows: [...rows], all: [...new Set(needs.flatMap((each) => each.all))] };
}

/** Districts that bear the name in states that were not asked about, as far as they happen to be known. */
export async function foundElsewhere(
  name: string,
  states: readonly State[],
  country: Country,
): Promise<readonly DistrictRow[]> {
  const others = country.states.value.states.filter((state) => !states.includes(state));
  const places = await Places.open(others, country);
  return places
    .search(name)
    .found.filter(({ match }) => match !== "similar")
    .map(({ item }) => item);
}
