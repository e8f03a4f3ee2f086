// Finds districts by name: every one that may be meant, how sure that is, and the sentences that say so. A query may name its
// state, or be the name of a state.
import { setImmediate as yieldToEventLoop } from "node:timers/promises";
import type { State } from "../contract/playground.ts";
import { quote } from "../core/untrusted-text.ts";
import { type Country, type Coverage, countMissing, type Needs } from "./country.ts";
import { type DistrictRow, districtText } from "./districts.ts";
import { againText, firstOf, MAX_NAME, nameText, plural, stateText } from "./format.ts";
import { formsOf, isPartOf } from "./names/fold.ts";
import { type FoundDistrict, Places, type Unlisted } from "./names/places.ts";
import { type NameInState, readQuery } from "./names/query.ts";
import { isIndianScript, isUnsupportedScript, latinOf } from "./names/scripts.ts";
import { exactState } from "./names/state.ts";

/** How a query was read, if it was not searched for as it stands. */
export interface ReadAs {
  /** What was searched for; absent if the query is a state's name. */
  readonly name?: string;
  /** Code of the state that the query names; absent if that state has no such district. */
  readonly state?: string;
}

export interface FoundDistricts {
  readonly query: string;
  readonly readAs?: ReadAs;
  readonly matches: readonly FoundDistrict[];
  readonly ambiguous: boolean;
}

/** What was found, and what its sentence is made of. */
export interface Finding {
  readonly answer: FoundDistricts;
  /** Number of matches beyond `matches`. */
  readonly left: number;
  /** The query is this state's name. */
  readonly asState?: State | undefined;
  /** The query names this state, which has the matches. */
  readonly inState?: State | undefined;
  /** The query names this state, which has no such district. */
  readonly notIn?: State | undefined;
  /** What the public record has of the name, which the list does not have. */
  readonly unlisted?: Unlisted | undefined;
  /** Number of names that contain the query, if all matches are guesses. */
  readonly partOf: number;
  readonly needs: Needs;
}

/** So like the asked name that it is mentioned together with the one that bears it. */
const MIN_RIVAL = 0.9;
/** A likeness within the named state that is followed there even if a namesake is elsewhere. */
const LIKE_IN_STATE = 0.85;

/** How a query is read, and the lists that this depends on. */
type ReadingPlan = {
  readonly needs: Needs;
  /** No other reading comes before it: the state's list is still to be read, or has the name. */
  readonly isCertain?: true;
} & (
  | { readonly kind: "whole"; readonly name: string }
  | { readonly kind: "state"; readonly state: State }
  | { readonly kind: "in state" | "elsewhere"; readonly name: string; readonly state: State }
);

const allOf = (rows: readonly State[]): Needs => ({ rows, all: rows });

/** The plan for a name with its state, by what is known of that state's list and of the others. */
function planInStates(inStates: readonly NameInState[], fullName: string, places: Places): ReadingPlan | undefined {
  const splits = inStates.filter(({ state }) => places.states.includes(state));
  const [first] = splits;
  if (first === undefined) {
    // A state was asked about, and the query names another one.
    const [other] = inStates;
    return other && { kind: "elsewhere", ...other, needs: allOf(places.missing) };
  }
  const own = places.missing.filter((each) => splits.some(({ state }) => state === each));
  const needs = allOf(own);
  if (own.length > 0) return { kind: "in state", ...first, needs, isCertain: true };
  const scoreOf = ({ name, state }: NameInState): number => places.search(name, state).found[0]?.score ?? 0;
  const named = splits.find(({ name, state }) => places.isNamed(name, state));
  if (named !== undefined) return { kind: "in state", ...named, needs, isCertain: true };
  const like = splits.find((split) => scoreOf(split) >= LIKE_IN_STATE);
  if (like !== undefined) return { kind: "in state", ...like, needs };
  const { missing } = places;
  if (places.isNamed(first.name)) return { kind: "elsewhere", ...first, needs: { rows: [], all: missing } };
  const guess = splits.find((split) => scoreOf(split) > 0);
  const isFullNameSimilar = guess === undefined && places.search(fullName).found.length > 0;
  return isFullNameSimilar ? undefined : { kind: "in state", ...(guess ?? first), needs: allOf(missing) };
}

/** A district may have its state's name: that is known when the state's own list is. */
const stateAlone = (state: State, missing: readonly State[]): ReadingPlan => ({
  kind: "state",
  state,
  needs: allOf(missing.filter(({ code }) => code === state.code)),
});

function planFor(query: string, places: Places): ReadingPlan {
  const { allStates, missing } = places;
  const { name, state, inStates, pairs } = readQuery(query, allStates);
  // Any state may hold a namesake, but a district that bears the name is enough for an answer.
  const found: Needs = { rows: [], all: missing };
  if (places.isNamed(query)) return { kind: "whole", name: query, needs: found };
  if (state !== undefined && (name === query || exactState(query, allStates) === state))
    return stateAlone(state, missing);
  if (places.isNamed(name)) return { kind: "whole", name, needs: found };
  if (state !== undefined) return stateAlone(state, missing);
  const inState = planInStates(inStates, name, places);
  if (inState?.isCertain) return inState;
  const pair = pairs.find(([one, other]) => places.areOfOne(one, other));
  if (pair !== undefined)
    return { kind: "whole", name: pair.find((each) => !places.search(each).ambiguous) ?? pair[0], needs: found };
  return inState ?? { kind: "whole", name, needs: allOf(missing) };
}

/** `limit`: of the matches. */
export function findDistrict(query: string, places: Places, limit: number): Finding {
  const plan = planFor(query, places);
  const { kind, needs } = plan;
  if (kind === "state") {
    const { state } = plan;
    const answer = { query, readAs: { state: state.code }, matches: [], ambiguous: false };
    return { answer, left: 0, partOf: 0, asState: state, needs };
  }
  const { name } = plan;
  const state = kind === "whole" ? undefined : plan.state;
  const inState = kind === "in state" ? state : undefined;
  const search = places.search(name, inState);
  const matches = search.found.slice(0, limit);
  const among = inState === undefined ? places.states : [inState];
  const [best] = matches;
  const isListed = best?.match === "exact" || (best?.match === "alias" && best.kind !== "short");
  const unlisted = isListed ? undefined : places.unlisted([name, query], among);
  const isGuess = matches.every(({ match }) => match === "similar");
  const readAs = { ...(name !== query && { name }), ...(inState && { state: inState.code }) };
  // If the query contradicts the catalogue, either half of it may be meant.
  const ambiguous = search.ambiguous || (matches.length > 0 && (kind === "elsewhere" || unlisted !== undefined));
  return {
    answer: { query, ...(Object.keys(readAs).length > 0 && { readAs }), matches, ambiguous },
    left: search.found.length - matches.length,
    inState,
    notIn: places.states.find((each) => kind === "elsewhere" && each === state),
    unlisted,
    partOf: isGuess ? places.partOf(name) : 0,
    needs,
  };
}

/** Applies `work` to each name, each in a turn of the event loop: 50 names in one turn would block it. */
async function forEachName<T>(
  queries: readonly string[],
  states: readonly State[],
  country: Country,
  work: (query: string, places: Places) => T,
): Promise<readonly T[]> {
  const places = await Places.open(states, country);
  const results: T[] = [];
  for (const query of queries) {
    results.push(work(query, places));
    await yieldToEventLoop();
  }
  return results;
}

/** Finds districts by names in these states; `limit`: matches of each name. */
export const findDistricts = (
  queries: readonly string[],
  states: readonly State[],
  country: Country,
  limit: number,
): Promise<readonly Finding[]> =>
  forEachName(queries, states, country, (query, places) => findDistrict(query, places, limit));

export async function needsForFinding(
  queries: readonly string[],
  states: readonly State[],
  country: Country,
): Promise<Needs> {
  const needs = await forEachName(queries, states, country, (query, places) => planFor(query, places).needs);
  const unique = (all: readonly State[]): readonly State[] => [...new Set(all)];
  return { rows: unique(needs.flatMap(({ rows }) => rows)), all: unique(needs.flatMap(({ all }) => all)) };
}

/** Districts that bear the name in states that were not asked about, as far as their lists are known. */
export async function foundElsewhere(
  name: string,
  states: readonly State[],
  country: Country,
): Promise<readonly DistrictRow[]> {
  const others = country.states.value.states.filter((state) => !states.includes(state));
  const places = await Places.open(others, country);
  return places.search(name).found.filter(({ match }) => match !== "similar");
}

/** No mandals in the list is no statement about the place. */
const mandalsOf = (count: number): string =>
  count === 0 ? "of mandals the catalogue lists none" : plural(count, "mandal");

const factOf = (row: DistrictRow): string => `${districtText(row)}: ${mandalsOf(row.mandalCount)}`;

/** The name that was searched for; one in an Indian script as it was read, where nothing bears it. */
function formatQueriedName({ query, readAs, matches }: FoundDistricts): string {
  const name = readAs?.name ?? query;
  const isKnown = matches.some(({ match }) => match !== "similar");
  return `${quote(name, MAX_NAME)}${isIndianScript(name) && !isKnown ? ` (${nameText(latinOf(name))})` : ""}`;
}

function unlistedText(queriedName: string, { state, seatOf, change }: Unlisted): string {
  const where = stateText(state);
  if (seatOf !== undefined)
    return `${queriedName} is the seat of ${nameText(seatOf)} in ${where}, which is not in the list.`;
  const { status, year, partOf } = change;
  const parentDistricts = partOf.map((name) => nameText(name)).join(" and ");
  if (status === "abolished")
    return `${queriedName} in ${where} was abolished in ${year}${parentDistricts === "" ? "" : ` and is part of ${parentDistricts} again`}.`;
  if (status === "announced")
    return `${queriedName} in ${where} was announced in ${year}${parentDistricts === "" ? "" : `, out of ${parentDistricts},`} and is not in the list.`;
  return `${queriedName} in ${where} was made a district in ${year}${parentDistricts === "" ? "" : `, part of ${parentDistricts} until then`}; it is not in the list.`;
}

const UNREADABLE =
  "Names are read in Latin letters and in nine Indian scripts (Devanagari, Bengali, Gurmukhi, Gujarati, Odia, Tamil, Telugu, Kannada, Malayalam): write it in one of them.";

function noneText(finding: Finding, where: string, coverage: Coverage, elsewhere: readonly DistrictRow[]): string {
  const { answer, inState, unlisted } = finding;
  const queriedName = formatQueriedName(answer);
  if (isUnsupportedScript(answer.query)) return `${queriedName} is in letters that are not read. ${UNREADABLE}`;
  const known = elsewhere.length === 0 ? "" : ` There is ${firstOf(elsewhere.map(districtText))}.`;
  if (unlisted !== undefined) return `${unlistedText(queriedName, unlisted)}${known}`;
  const place = inState === undefined ? where : ` in ${stateText(inState)}`;
  if (coverage.complete) {
    const among = place === "" ? ` in any of ${plural(coverage.statesTotal, "list")}` : place;
    return `No district like ${queriedName}${among}.${known}`;
  }
  const { statesRead, statesTotal } = coverage;
  return `None like ${queriedName} found${place} in ${statesRead} of ${plural(statesTotal, "list")}${againText(coverage)}.${known}`;
}

/** What the asked name is to the district that was found. */
function identityText(queriedName: string, { match, kind, since }: FoundDistrict): string {
  if (match === "seat") return `${queriedName} is ${kind === "city" ? "a city in" : "the seat of"} `;
  if (kind === "former") return `${queriedName} is a former name${since === undefined ? "" : ` (until ${since})`} of `;
  if (kind === "later") return `${queriedName} is a later name${since === undefined ? "" : ` (since ${since})`} of `;
  return `${queriedName} is `;
}

function guessOf(row: FoundDistrict): string {
  const { name, stateName, stateCode, via } = row;
  if (via === undefined) return districtText(row);
  return `${nameText(name)} (also ${quote(via, MAX_NAME)}) in ${stateText({ name: stateName, code: stateCode })}`;
}

function guessText(queriedName: string, { answer, left, partOf, unlisted }: Finding): string {
  const { matches } = answer;
  const guesses = firstOf(matches.map(guessOf), left);
  const [, ...others] = matches;
  const isOne = others.length + left === 0;
  if (unlisted !== undefined) return `${unlistedText(queriedName, unlisted)} Like it: ${guesses}: a guess.`;
  if (partOf > 0) {
    const part = formsOf(answer.readAs?.name ?? answer.query);
    const names = matches.filter(({ name }) => isPartOf(part, formsOf(name))).map(districtText);
    return `${queriedName} is part of ${plural(partOf, "name")}: ${firstOf(names, partOf - names.length)}: a guess.`;
  }
  return `No district is called ${queriedName}; ${guesses} ${isOne ? "is" : "are"} like it: a guess.`;
}

function foundText(finding: Finding): string {
  const { answer, left, notIn, unlisted } = finding;
  const { query, matches, readAs, ambiguous } = answer;
  const [best, ...others] = matches;
  if (best === undefined) return "";
  const queriedName = formatQueriedName(answer);
  const named = matches.filter(({ match }) => match !== "similar");
  const where =
    notIn === undefined ? "" : `${stateText(notIn)} has no district like ${queriedName}; elsewhere there is `;
  if (named.length > 1)
    return `${where === "" ? `${queriedName} may be any of ` : where}${firstOf(named.map(districtText), matches.length === named.length ? left : 0)}.`;
  if (best.match === "similar") return guessText(queriedName, finding);
  const isItself = best.match === "exact" && best.name === (readAs?.name ?? query);
  const what = where === "" && !isItself ? identityText(queriedName, best) : where;
  const also = unlisted === undefined ? "" : ` ${unlistedText(queriedName, unlisted)}`;
  const rivals =
    ambiguous && where === "" && unlisted === undefined ? others.filter(({ score }) => score >= MIN_RIVAL) : [];
  const perhaps = rivals.length === 0 ? "" : ` Perhaps meant: ${firstOf(rivals.map(districtText))}.`;
  return `${what}${factOf(best)}.${also}${perhaps}`;
}

/** One query's answer as a sentence. `where`: " in Goa (GA)", when one state was asked about. */
export function findingText(
  finding: Finding,
  coverage: Coverage,
  where: string,
  elsewhere: readonly DistrictRow[],
): string {
  const { answer, asState } = finding;
  if (asState !== undefined)
    return `${quote(answer.query, MAX_NAME)} is a state, ${stateText(asState)}, of ${plural(asState.districtCount, "district")}.`;
  return answer.matches.length === 0 ? noneText(finding, where, coverage, elsewhere) : foundText(finding);
}

/** What to try where nothing is like the name, and nothing is known of it. */
export function hintText({ answer, asState, unlisted }: Finding, { complete }: Coverage): string {
  const isMiss = answer.matches.length === 0 && asState === undefined && unlisted === undefined;
  return isMiss && complete && !isUnsupportedScript(answer.query)
    ? " Towns and blocks are not listed: try their district."
    : "";
}

/** How the query was read, where words were taken out of it: a sentence, or none. */
export function readAsText({ answer: { query, readAs } }: Finding): readonly string[] {
  if (readAs?.name === undefined) return [];
  const where = readAs.state === undefined ? "" : ` in ${readAs.state}`;
  return [`${quote(query, MAX_NAME)} was read as ${quote(readAs.name, MAX_NAME)}${where}.`];
}

/** What a found name does not exclude. */
export const namesakesText = ({ needs }: Finding): string =>
  needs.all.length === 0 ? "" : ` ${plural(needs.all.length, "list")} unread: namesakes are possible.`;

/** Of several names. */
export function findingsText(findings: readonly Finding[], coverage: Coverage): string {
  const some = (kind: string, which: readonly Finding[]): readonly string[] =>
    which.length === 0
      ? []
      : [`${which.length} ${kind} (${firstOf(which.map(({ answer }) => quote(answer.query, MAX_NAME)))})`];
  const none = findings.filter(({ answer }) => answer.matches.length === 0);
  const ambiguous = findings.filter(({ answer }) => answer.ambiguous);
  const parts = [
    `${findings.length - none.length - ambiguous.length} found`,
    ...some("ambiguous", ambiguous),
    ...some("not found", none),
  ];
  const isCertain = findings.every(({ needs }) => needs.rows.length === 0);
  const rest = isCertain
    ? ""
    : ` Not certain: ${countMissing(coverage)} of ${coverage.statesTotal} lists are unread${againText(coverage)}.`;
  return `Of ${plural(findings.length, "name")}: ${parts.join(", ")}.${rest}`;
}
