// Finds all districts that a name may mean, decides how certain the matches are, and describes them in sentences.
import { setImmediate as yieldToEventLoop } from "node:timers/promises";
import type { State } from "../contract/playground.ts";
import { quote } from "../core/untrusted-text.ts";
import type { Country, CountryAnswer, Coverage, RequiredLists } from "./country.ts";
import { type DistrictRow, formatDistrict, requireLists } from "./districts.ts";
import { describeNotLoaded, formatName, formatState, joinFirst, MAX_DISPLAY_LENGTH, pluralize } from "./format.ts";
import { groupByKey } from "./group-by-key.ts";
import { formatChange, type UnlistedPlace } from "./names/changes.ts";
import { createDistrictSearch, type DistrictSearch, type FoundDistrict, indexNames } from "./names/district-search.ts";
import { isPartOf, toNameForms } from "./names/name-forms.ts";
import { parseQuery } from "./names/query.ts";
import { exactState } from "./names/resolve-state.ts";
import { isIndianScript, isUnsupportedScript, toLatin } from "./names/transliteration.ts";

/** How a query was interpreted, if it was not searched for literally. */
export interface QueryInterpretation {
  /** Name that was searched for; absent if it is the query itself, or if the query is a state's name. */
  readonly name?: string;
  /** Code of the state that the query names; absent if there is none, or if that state has no such district. */
  readonly state?: string;
}

/** exact: the name in the list. known: another name of the place in the public record. guess: a similar name. */
export type Certainty = "exact" | "known" | "guess";

export interface FoundDistricts {
  readonly query: string;
  readonly readAs?: QueryInterpretation;
  readonly matches: readonly FoundDistrict[];
  /** Certainty of the best match. A match in another state than the query names is a guess. Absent without a match. */
  readonly certainty?: Certainty;
  /** Present if several districts have the name. */
  readonly ambiguous?: true;
}

export interface Finding {
  readonly answer: FoundDistricts;
  /** Number of matches beyond `matches`. */
  readonly omittedCount: number;
  /** State whose name is the whole query. */
  readonly matchedState?: State;
  /** State that the query names, if only that state was searched. */
  readonly searchedState?: State;
  /** State that the query names, if it has no such district. */
  readonly stateWithoutMatch?: State;
  readonly unlisted?: UnlistedPlace;
  /** Number of names that contain every word of the query; counted only if all matches are guesses. */
  readonly partialMatchCount: number;
  readonly requiredLists: RequiredLists;
}

/** Guesses with a score lower than the best one's by more than this are not worth reading. */
const MAX_SCORE_GAP = 0.1;
/** At or above this score, about one letter of the name differs. */
const LIKELY_SCORE = 0.85;

/** Minimum score at which a similar name in the named state has priority over a namesake in another state. */
const MIN_SCORE_IN_STATE = 0.85;

type QueryPlan = { readonly requiredLists: RequiredLists } & (
  | { readonly kind: "name"; readonly name: string }
  | { readonly kind: "state"; readonly state: State }
  | { readonly kind: "in state" | "elsewhere"; readonly name: string; readonly state: State }
);

function planQuery(query: string, districts: DistrictSearch): QueryPlan {
  const { allStates, states, missing } = districts;
  const { name, state, nameStatePairs, namePairs } = parseQuery(query, allStates);
  // Any state may contain a namesake, but one district with the name is enough for an answer.
  const optionalLists: RequiredLists = { rows: [], all: missing };
  if (districts.hasName(query)) return { kind: "name", name: query, requiredLists: optionalLists };
  const isState = state !== undefined && (name === query || exactState(query, allStates) === state);
  if (!isState && districts.hasName(name)) return { kind: "name", name, requiredLists: optionalLists };
  if (state !== undefined) {
    // A district may have the same name as its state, so the answer needs that state's list.
    const requiredLists = requireLists(missing.filter(({ code }) => code === state.code));
    return { kind: "state", state, requiredLists };
  }

  const splits = nameStatePairs.filter((split) => states.includes(split.state));
  const [first] = splits;
  const own = requireLists(missing.filter((each) => splits.some((split) => split.state === each)));
  const named = own.rows.length > 0 ? first : splits.find((split) => districts.hasName(split.name, split.state));
  if (named !== undefined) return { kind: "in state", ...named, requiredLists: own };
  const pair = namePairs.find(([one, other]) => districts.isSameDistrict(one, other));
  if (pair !== undefined) {
    const clearName = pair.find((each) => !districts.search(each).ambiguous) ?? pair[0];
    return { kind: "name", name: clearName, requiredLists: optionalLists };
  }

  // If the search is limited to some states, the query may name another one.
  const [other] = nameStatePairs;
  if (first === undefined && other !== undefined)
    return { kind: "elsewhere", ...other, requiredLists: requireLists(missing) };
  const scores = splits.map((split) => {
    const [best] = districts.search(split.name, split.state).found;
    return best === undefined ? 0 : (best.score ?? 1);
  });
  const similar = splits[scores.findIndex((score) => score >= MIN_SCORE_IN_STATE)];
  if (similar !== undefined) return { kind: "in state", ...similar, requiredLists: own };
  if (first !== undefined && districts.hasName(first.name))
    return { kind: "elsewhere", ...first, requiredLists: optionalLists };
  const guess = splits[scores.findIndex((score) => score > 0)];
  return first === undefined || (guess === undefined && districts.search(name).found.length > 0)
    ? { kind: "name", name, requiredLists: requireLists(missing) }
    : { kind: "in state", ...(guess ?? first), requiredLists: requireLists(missing) };
}

/** "Raigad or Raigarh": if districts have both names, each is a match. */
function findAlternatives(query: string, districts: DistrictSearch, limit: number): Finding | undefined {
  const [one = "", other, ...more] = query.split(/\s+or\s+/i);
  if (other === undefined || more.length > 0 || ![one, other].every((name) => districts.hasName(name)))
    return undefined;
  if (districts.hasName(query)) return undefined;
  const named = [one, other].flatMap((name) => districts.search(name).found.filter(({ match }) => match !== "similar"));
  const codeOf = ({ stateCode, districtCode }: DistrictRow): string => `${stateCode} ${districtCode}`;
  const found = named.filter((row, at) => named.findIndex((each) => codeOf(each) === codeOf(row)) === at);
  if (found.length < 2) return undefined;
  const matches = districts.withCreations(found.slice(0, limit));
  const certainty = found.every(({ match }) => match === "exact") ? "exact" : "known";
  return {
    answer: { query, matches, certainty, ambiguous: true },
    omittedCount: found.length - matches.length,
    partialMatchCount: 0,
    requiredLists: { rows: [], all: districts.missing },
  };
}

/** Finds the districts that a query may mean. `limit`: maximum number of matches. */
export function findDistrict(query: string, districts: DistrictSearch, limit: number): Finding {
  const alternatives = findAlternatives(query, districts, limit);
  if (alternatives !== undefined) return alternatives;
  const plan = planQuery(query, districts);
  const { kind, requiredLists } = plan;
  if (kind === "state") {
    const { state } = plan;
    const answer = { query, readAs: { state: state.code }, matches: [] };
    return { answer, omittedCount: 0, partialMatchCount: 0, matchedState: state, requiredLists };
  }
  const { name } = plan;
  const state = kind === "name" ? undefined : plan.state;
  const searchedState = kind === "in state" ? state : undefined;
  const result = districts.search(name, searchedState);
  const [{ match: firstMatch, score: bestScore = 1 } = { match: undefined }] = result.found;
  const found =
    firstMatch === "similar"
      ? result.found.filter(({ score = 1 }) => score >= bestScore - MAX_SCORE_GAP)
      : result.found;
  const matches = districts.withCreations(found.slice(0, limit));
  const [best] = matches;
  const isListed = best?.match === "exact" || (best?.match === "alias" && best.kind !== "short");
  const unlisted = isListed ? undefined : districts.findUnlisted([name, query], searchedState);
  const isGuess = matches.every(({ match }) => match === "similar");
  const readAs = { ...(name !== query && { name }), ...(searchedState && { state: searchedState.code }) };
  // If the query contradicts the catalog, either its name or its state may be wrong.
  const certainty = isGuess || kind === "elsewhere" ? "guess" : best?.match === "exact" ? "exact" : "known";
  return {
    answer: {
      query,
      ...(Object.keys(readAs).length > 0 && { readAs }),
      matches,
      ...(best !== undefined && { certainty }),
      ...(result.ambiguous && { ambiguous: true }),
    },
    omittedCount: found.length - matches.length,
    searchedState,
    stateWithoutMatch: districts.states.find((each) => kind === "elsewhere" && each === state),
    unlisted,
    partialMatchCount: isGuess ? districts.countPartialMatches(name) : 0,
    requiredLists,
  };
}

export interface Findings extends CountryAnswer {
  readonly findings: readonly Finding[];
}

/** `limit`: maximum number of matches for each name. Each name has a separate turn of the event loop: 50 in one turn would block it. */
export async function findDistricts(
  queries: readonly string[],
  states: readonly State[],
  country: Country,
  limit: number,
): Promise<Findings> {
  await indexNames(states, country, queries);
  const districts = createDistrictSearch(states, country);
  const findings: Finding[] = [];
  for (const query of queries) {
    findings.push(findDistrict(query, districts, limit));
    await yieldToEventLoop();
  }
  const unique = (select: (lists: RequiredLists) => readonly State[]): readonly State[] => [
    ...new Set(findings.flatMap(({ requiredLists }) => select(requiredLists))),
  ];
  return { findings, states, requiredLists: { rows: unique(({ rows }) => rows), all: unique(({ all }) => all) } };
}

/** Finds districts with this name in the other states, as far as their lists are known. */
export async function findElsewhere(
  name: string,
  states: readonly State[],
  country: Country,
): Promise<readonly DistrictRow[]> {
  const others = country.states.value.states.filter((state) => !states.includes(state));
  await indexNames(others, country, [name]);
  return createDistrictSearch(others, country)
    .search(name)
    .found.filter(({ match }) => match !== "similar");
}

/** A list without mandals does not mean that the district has none. */
const formatMandalCount = (count: number): string =>
  count === 0 ? "the catalog lists no mandals" : pluralize(count, "mandal");

const describeDistrict = (row: DistrictRow): string => `${formatDistrict(row)}: ${formatMandalCount(row.mandalCount)}`;

const searchedName = ({ query, readAs }: FoundDistricts): string => readAs?.name ?? query;

/** Quotes the name that was searched for. The Latin spelling follows a name in an Indian script that no district has. */
function formatQueriedName(answer: FoundDistricts): string {
  const name = searchedName(answer);
  const isKnown = answer.matches.some(({ match }) => match !== "similar");
  return `${quote(name, MAX_DISPLAY_LENGTH)}${isIndianScript(name) && !isKnown ? ` (${formatName(toLatin(name))})` : ""}`;
}

function describeUnlisted(queriedName: string, { state, headquartersOf, change }: UnlistedPlace): string {
  const where = formatState(state);
  if (headquartersOf !== undefined)
    return `${queriedName} is the headquarters of ${formatName(headquartersOf)} in ${where}, which is not in the list.`;
  const { status, year, restored, partOf } = change;
  const parents = partOf.map((name) => formatName(name)).join(" and ");
  if (status === "abolished")
    return `${queriedName} in ${where} was abolished in ${year} and is part of ${parents} again.`;
  if (status === "announced")
    return `${queriedName} in ${where} was announced in ${year}, out of ${parents}, and is not in the list.`;
  const again = restored === undefined ? "" : ` and restored in ${restored}`;
  return `${queriedName} in ${where} was made a district in ${year}${again}, part of ${parents} until then; it is not in the list.`;
}

function describeOwnDistrict({ state, change }: UnlistedPlace, { stateCode }: FoundDistrict): string {
  if (change === undefined) return "";
  const what = `Its own district${state.code === stateCode ? "" : ` in ${formatState(state)}`}`;
  return ` ${what} was ${formatChange(change)}.`;
}

/** Topics that users ask about and that no tool can answer. */
const NOT_IN_CATALOG =
  " Not in this catalog: towns, blocks, names of mandals, population, area, borders. For a town, try its district.";

const SUPPORTED_SCRIPTS_TEXT =
  "Names are read in Latin letters and in nine Indian scripts (Devanagari, Bengali, Gurmukhi, Gujarati, Odia, Tamil, Telugu, Kannada, Malayalam): write it in one of them.";

function describeNoMatch(
  finding: Finding,
  where: string,
  coverage: Coverage,
  elsewhere: readonly DistrictRow[],
): string {
  const { answer, searchedState, unlisted } = finding;
  const queriedName = formatQueriedName(answer);
  if (isUnsupportedScript(answer.query))
    return `${queriedName} is in letters that are not read. ${SUPPORTED_SCRIPTS_TEXT}`;
  const elsewhereText = elsewhere.length === 0 ? "" : ` Elsewhere: ${joinFirst(elsewhere.map(formatDistrict))}.`;
  if (unlisted !== undefined) return `${describeUnlisted(queriedName, unlisted)}${elsewhereText}`;
  const place = searchedState === undefined ? where : ` in ${formatState(searchedState)}`;
  if (!coverage.complete && coverage.statesRead === 0)
    return `${queriedName}${place} was not looked up: ${describeNotLoaded(coverage)}.${elsewhereText}`;
  const soFar = coverage.complete ? "" : ` so far: ${describeNotLoaded(coverage)}`;
  // The transliteration may be the reason, so the name is not denied.
  return isIndianScript(searchedName(answer))
    ? `Found no name like ${queriedName}${place}${soFar}. Try it in Latin letters.${elsewhereText}`
    : `No district like ${queriedName}${place}${soFar}.${elsewhereText}`;
}

/** Returns true if the name that was searched for is a form or a part of the district's name. */
const isOwnName = (answer: FoundDistricts, { name, match, kind }: FoundDistrict): boolean =>
  match === "exact" || kind === "short" || isPartOf(toNameForms(searchedName(answer)), toNameForms(name));

const lgdText = ({ lgdCode }: State): string => (lgdCode === undefined ? "" : `, LGD code ${formatName(lgdCode)}`);

function describeIdentity(queriedName: string, { match, kind, since }: FoundDistrict): string {
  if (match === "headquarters") return `${queriedName} is ${kind === "city" ? "a city in" : "the headquarters of"} `;
  if (kind === "former")
    return `${queriedName} ${since === undefined ? "is a former name of " : `(until ${since}) is now `}`;
  if (kind === "later") return `${queriedName} is a later name${since === undefined ? "" : ` (since ${since})`} of `;
  return `${queriedName} is `;
}

function formatGuess(row: FoundDistrict): string {
  const { name, stateName, stateCode, via } = row;
  if (via === undefined) return formatDistrict(row);
  return `${formatName(name)} (also ${quote(via, MAX_DISPLAY_LENGTH)}) in ${formatState({ name: stateName, code: stateCode })}`;
}

function describeGuesses(queriedName: string, { answer, omittedCount, partialMatchCount, unlisted }: Finding): string {
  const { matches } = answer;
  const guesses = joinFirst(matches.map(formatGuess), omittedCount);
  if (unlisted !== undefined) return `${describeUnlisted(queriedName, unlisted)} Similar names: ${guesses}.`;
  if (partialMatchCount > 0) {
    const part = toNameForms(searchedName(answer));
    const names = matches.filter(({ name }) => isPartOf(part, toNameForms(name))).map(formatDistrict);
    return `${queriedName} is part of ${pluralize(partialMatchCount, "name")}: ${joinFirst(names, partialMatchCount - names.length)}. Ask the user which one is meant.`;
  }
  // A transliteration is approximate, so the district may well have this name.
  const isLikely = (matches[0]?.score ?? 0) >= LIKELY_SCORE;
  const denial =
    isLikely || isIndianScript(searchedName(answer))
      ? `${queriedName} may be `
      : `No district named ${queriedName}. Closest: `;
  return `${denial}${guesses}; confirm it with the user.`;
}

function describeFound(finding: Finding): string {
  const { answer, omittedCount, stateWithoutMatch, unlisted } = finding;
  const { matches } = answer;
  const [best] = matches;
  if (best === undefined) return "";
  const queriedName = formatQueriedName(answer);
  const where =
    stateWithoutMatch === undefined
      ? ""
      : `${formatState(stateWithoutMatch)} has no district like ${queriedName}; elsewhere there is `;
  if (best.match === "similar") return describeGuesses(queriedName, finding);
  if (matches.length > 1) {
    const names = matches.map(formatDistrict);
    const isPair = names.length === 2 && omittedCount === 0 && where === "";
    const any = isPair ? names.join(" or ") : `${where === "" ? "any of " : ""}${joinFirst(names, omittedCount)}`;
    return `${where === "" ? `${queriedName} could be ` : where}${any}.`;
  }
  const isClear = unlisted === undefined && isOwnName(answer, best);
  const what = where === "" && !isClear ? describeIdentity(queriedName, best) : where;
  const also = unlisted === undefined ? "" : describeOwnDistrict(unlisted, best);
  return `${what}${describeDistrict(best)}.${also}`;
}

/** `where`: for example " in Goa (GA)" if the search is limited to one state. */
export function describeFinding(
  finding: Finding,
  coverage: Coverage,
  where: string,
  elsewhere: readonly DistrictRow[],
): string {
  const { answer, matchedState } = finding;
  if (matchedState !== undefined)
    return `${quote(answer.query, MAX_DISPLAY_LENGTH)} is the state ${formatState(matchedState)}${lgdText(matchedState)}, with ${pluralize(matchedState.districtCount, "district")}.`;
  return answer.matches.length === 0 ? describeNoMatch(finding, where, coverage, elsewhere) : describeFound(finding);
}

/** Explains what the catalog does not contain, if no listed district has the name: the query may be a town or another topic. */
export function describeHint({ answer, matchedState, unlisted }: Finding): string {
  if (matchedState !== undefined || unlisted !== undefined || isUnsupportedScript(answer.query)) return "";
  if (answer.matches.length === 0) return NOT_IN_CATALOG;
  return answer.matches[0]?.match === "similar" ? " Towns are not listed." : "";
}

/** Describes in at most one sentence how a query was interpreted if words were removed from it. */
export function describeInterpretation({ answer: { query, readAs } }: Finding): readonly string[] {
  if (readAs?.name === undefined) return [];
  const where = readAs.state === undefined ? "" : ` in ${readAs.state}`;
  return [`${quote(query, MAX_DISPLAY_LENGTH)} was read as ${quote(readAs.name, MAX_DISPLAY_LENGTH)}${where}.`];
}

export const describeNamesakes = ({ requiredLists }: Finding, coverage: Coverage): string =>
  requiredLists.all.length === 0 ? "" : ` Others may have this name: ${describeNotLoaded(coverage)}.`;

/** Describes the result for one of several names; undefined if its only row is sufficient: a district that has the name. */
export function describeUnclear(finding: Finding, coverage: Coverage): string | undefined {
  const { answer, unlisted } = finding;
  const { matches, certainty, ambiguous } = answer;
  const isClear = certainty !== "guess" && ambiguous !== true && unlisted === undefined;
  return isClear && matches.length === 1 && matches[0]?.mandalCount !== 0
    ? undefined
    : describeFinding(finding, coverage, "", []);
}

function classOf({ answer, matchedState, unlisted }: Finding): string {
  const { certainty, ambiguous } = answer;
  if (matchedState !== undefined) return "state";
  if (certainty === "exact" || certainty === "known") return ambiguous === true ? "ambiguous" : "found";
  if (unlisted?.change !== undefined && unlisted.change.status !== "made") return "abolished or announced";
  return certainty === undefined ? "not found" : "guessed";
}

const CLASSES = ["found", "ambiguous", "guessed", "state", "abolished or announced", "not found"];

export function describeFindings(findings: readonly Finding[], coverage: Coverage): string {
  const classes = groupByKey(
    findings.map((finding) => [classOf(finding), quote(finding.answer.query, MAX_DISPLAY_LENGTH)]),
  );
  const parts = CLASSES.flatMap((kind) => {
    const names = classes.get(kind) ?? [];
    if (kind === "found") return [`${names.length} found`];
    const count = kind === "state" ? pluralize(names.length, kind) : `${names.length} ${kind}`;
    return names.length === 0 ? [] : [`${count} (${joinFirst(names)})`];
  });
  const isCertain = findings.every(({ requiredLists }) => requiredLists.rows.length === 0);
  const uncertaintyText = isCertain ? "" : ` Not final: ${describeNotLoaded(coverage)}.`;
  const hint = classes.has("guessed") || classes.has("not found") ? NOT_IN_CATALOG : "";
  return `Of ${pluralize(findings.length, "name")}: ${parts.join(", ")}.${uncertaintyText}${hint}`;
}
