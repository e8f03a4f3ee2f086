// Finds all districts that a name may mean, decides how certain the matches are, and describes them in sentences.

import { setImmediate as yieldToEventLoop } from "node:timers/promises";
import type { State } from "../contract/playground.ts";
import { countPart, groupByKey } from "../core/counts.ts";
import { forReader, join, own, type Part, quoted, say, type Text } from "../core/text.ts";
import type { Country, CountryAnswer, Coverage, RequiredLists } from "./country.ts";
import { type DistrictRow, formatDistrict, requireLists } from "./districts.ts";
import { describeNotLoaded, formatState, joinFirst } from "./format.ts";
import { lastChange, type UnlistedPlace } from "./names/changes.ts";
import {
  createDistrictSearch,
  type DistrictSearch,
  type FoundDistrict,
  indexNames,
  type NameMatch,
} from "./names/district-search.ts";
import { isModifier, isPartOf, toNameForms } from "./names/name-forms.ts";
import { parseQuery } from "./names/query.ts";
import { exactState, formatName, kindOfState, MAX_DISPLAY_LENGTH, prefixState } from "./names/resolve-state.ts";
import { isIndianScript, isUnsupportedScript, toLatin } from "./names/transliteration.ts";
import { type NameParts, separateMarks, separateNames } from "./names/written-forms.ts";

/** How a query was interpreted, if it was not searched for literally. */
export interface QueryInterpretation {
  /** Name that was searched for; absent if it is the query itself, or if the query is a state's name. */
  readonly name?: string;
  /** Code of the state that the query names; absent if there is none, or if that state has no such district. */
  readonly state?: string;
}

/** certain: the name in the list, or another name of the place in the public record. guess: a similar name. */
export type Certainty = "certain" | "guess";

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
  /** LGD code, if the query is only a number. */
  readonly code?: string;
  /** Districts with a number beside the name as their LGD code, none of which has the name. */
  readonly coded?: readonly DistrictRow[];
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

type SearchResult = ReturnType<DistrictSearch["search"]>;

type QueryPlan = { readonly requiredLists: RequiredLists } & (
  | { readonly kind: "name"; readonly name: string; readonly result?: SearchResult }
  | { readonly kind: "state"; readonly state: State }
  | {
      readonly kind: "in state" | "elsewhere";
      readonly name: string;
      readonly state: State;
      readonly result?: SearchResult;
    }
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
  const unlisted = splits.find((split) => districts.findUnlisted([split.name], split.state) !== undefined);
  if (unlisted !== undefined) return { kind: "in state", ...unlisted, requiredLists: own };
  const guess = splits[scores.findIndex((score) => score > 0)];
  return first === undefined || (guess === undefined && districts.search(name).found.length > 0)
    ? { kind: "name", name, requiredLists: requireLists(missing) }
    : { kind: "in state", ...(guess ?? first), requiredLists: requireLists(missing) };
}

/** Finds the state that a query of several parts names, and the names of districts; undefined if the parts name several states. */
function readParts({ names, inBrackets }: NameParts, districts: DistrictSearch) {
  const { allStates } = districts;
  const states = new Set<State>();
  function readName(part: string): string | undefined {
    const { name, state, nameStatePairs } = parseQuery(part, allStates);
    if (districts.hasName(name)) return name;
    const split = nameStatePairs.find((each) => districts.hasName(each.name, each.state)) ?? nameStatePairs[0];
    const named = state ?? split?.state;
    if (named !== undefined) states.add(named);
    return state === undefined ? (split?.name ?? name) : undefined;
  }
  function readInBrackets(part: string): string | undefined {
    const state = exactState(part, allStates) ?? (districts.hasName(part) ? undefined : prefixState(part, allStates));
    if (state === undefined) return readName(part);
    states.add(state);
    return undefined;
  }
  const isName = (name: string | undefined): name is string => name !== undefined;
  const outer = names.map(readName).filter(isName);
  const inner = inBrackets.map(readInBrackets).filter(isName);
  const [state, ...others] = states;
  return others.length === 0 ? { outer, inner, state } : undefined;
}

const RANKS: readonly NameMatch[] = ["exact", "alias", "headquarters"];

/** Merges the rows of several names: those that all names mean; all rows if there are none, or if each name counts. Each has its most certain match. */
function mergeRows(named: readonly (readonly FoundDistrict[])[], isChoice: boolean): SearchResult {
  const byCode = groupByKey(named.flat().map((row) => [`${row.stateCode} ${row.districtCode}`, row]));
  const rows = [...byCode.values()];
  const shared = isChoice ? [] : rows.filter(({ length }) => length === named.length);
  const found = (shared.length > 0 ? shared : rows).flatMap(
    (same) => same.toSorted((a, b) => RANKS.indexOf(a.match) - RANKS.indexOf(b.match))[0] ?? [],
  );
  return { found, ambiguous: found.length > 1 };
}

/** "Prayagraj (Allahabad), UP", "Raigad or Raigarh": the district that has both names, or all that have one of them. */
function planSeveralNames(text: string, districts: DistrictSearch): QueryPlan | undefined {
  const parts = separateNames(text);
  const read = parts && !districts.hasName(text) ? readParts(parts, districts) : undefined;
  const [first] = read?.outer ?? [];
  if (read === undefined || first === undefined) return undefined;
  const { outer, inner, state } = read;
  const { states, missing } = districts;
  if (state !== undefined && !states.includes(state)) return undefined;
  const place = state === undefined ? ({ kind: "name" } as const) : ({ kind: "in state", state } as const);
  const ownList = requireLists(missing.filter((each) => each === state));
  const requiredLists = state === undefined ? { rows: [], all: missing } : ownList;
  // The brackets may belong to the name: "Khandwa (East Nimar)", and "Khandwa (East Nimar) [note]".
  const whole = [inner, inner.slice(0, -1)].filter((own) => own.length > 0).map((own) => [...outer, ...own].join(" "));
  const full = whole.find((each) => districts.hasName(each, state));
  if (full !== undefined) return { ...place, name: full, requiredLists };
  const search = (name: string) => {
    const { found } = districts.search(name, state);
    return { name, found, isKnown: found.some(({ match }) => match !== "similar") };
  };
  const searches = { outer: outer.map(search), inner: inner.map(search) };
  const known = [...searches.outer, ...searches.inner].filter(({ isKnown }) => isKnown);
  const rows = mergeRows(
    known.map(({ found }) => found.filter(({ match }) => match !== "similar")),
    parts?.isChoice === true,
  );
  const [best] = rows.found;
  const named = known.find(({ found }) => !rows.ambiguous && found.some(({ match }) => match === best?.match));
  const resembles = ({ found }: ReturnType<typeof search>): boolean =>
    found.some(({ districtCode }) => rows.found.some((row) => row.districtCode === districtCode));
  // Unknown words in brackets are a comment, except "(Rural)". Any other unknown name must resemble a name of the district.
  const isClear =
    searches.outer.every((each) => each.isKnown || resembles(each)) &&
    searches.inner.every(({ name, isKnown }) => isKnown || !toNameForms(name).ownWords.every(isModifier));
  const [only, ...more] = known;
  if (only !== undefined && isClear)
    return more.length === 0
      ? { ...place, name: only.name, requiredLists }
      : { ...place, name: named?.name ?? text, result: rows, requiredLists };
  return state === undefined ? undefined : { ...place, name: whole[0] ?? first, requiredLists };
}

const NUMBER_ONLY = /^\P{L}*$/u;

/** Finds the district with an LGD code. Other lists may have the same code, which the contract does not exclude. */
function findByCode(query: string, code: string, districts: DistrictSearch, limit: number): Finding {
  const found = districts.findByCode(code);
  const matches = districts.withCreations(found.slice(0, limit));
  const certainty = found.length > 0 ? ({ certainty: "certain" } as const) : {};
  return {
    answer: { query, matches, ...certainty, ...(found.length > 1 && { ambiguous: true }) },
    omittedCount: found.length - matches.length,
    code,
    partialMatchCount: 0,
    requiredLists: { rows: found.length > 0 ? [] : districts.missing, all: districts.missing },
  };
}

/** If a district in the result has one of these codes, only that one is meant. */
function selectCoded({ found, ambiguous }: SearchResult, codes: readonly string[]): SearchResult {
  const coded = found.filter(({ districtCode }) => codes.includes(districtCode));
  return coded.length > 0 ? { found: coded, ambiguous: coded.length > 1 } : { found, ambiguous };
}

/** A name similar to such a district's is not meant. A district that was made may be in the list in another spelling. */
const isAbolishedOrAnnounced = (unlisted: UnlistedPlace | undefined): boolean =>
  unlisted?.change !== undefined && unlisted.change.status !== "made";

/** Finds the districts that a query may mean. `limit`: maximum number of matches. */
export function findDistrict(query: string, districts: DistrictSearch, limit: number): Finding {
  const { text, codes } = districts.hasName(query) ? { text: query, codes: [] } : separateMarks(query);
  const [code, ...otherCodes] = codes;
  if (code !== undefined && otherCodes.length === 0 && NUMBER_ONLY.test(text))
    return findByCode(query, code, districts, limit);
  const plan = planSeveralNames(text, districts) ?? planQuery(text, districts);
  const { kind, requiredLists } = plan;
  if (kind === "state") {
    const { state } = plan;
    const answer = { query, readAs: { state: state.code }, matches: [] };
    return { answer, omittedCount: 0, partialMatchCount: 0, matchedState: state, requiredLists };
  }
  const { name } = plan;
  const state = kind === "name" ? undefined : plan.state;
  const searchedState = kind === "in state" ? state : undefined;
  const result = selectCoded(plan.result ?? districts.search(name, searchedState), codes);
  const [{ match: firstMatch, kind: firstKind, score: bestScore = 1 } = { match: undefined }] = result.found;
  const isListed = firstMatch === "exact" || (firstMatch === "alias" && firstKind !== "short");
  const unlisted = isListed ? undefined : districts.findUnlisted([name, query], searchedState);
  const mayGuess = !isAbolishedOrAnnounced(unlisted);
  const isLikelyGuess = ({ score = 1 }: FoundDistrict): boolean => mayGuess && score >= bestScore - MAX_SCORE_GAP;
  const found = firstMatch === "similar" ? result.found.filter(isLikelyGuess) : result.found;
  const matches = districts.withCreations(found.slice(0, limit));
  const [best] = matches;
  const isGuess = matches.every(({ match }) => match === "similar");
  const readAs = { ...(name !== query && { name }), ...(searchedState && { state: searchedState.code }) };
  // If the query contradicts the catalog, either its name or its state may be wrong.
  const certainty = isGuess || kind === "elsewhere" ? "guess" : "certain";
  const isMeant = ({ districtCode }: DistrictRow): boolean => codes.includes(districtCode);
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
    coded: found.some(isMeant) ? [] : codes.flatMap((each) => districts.findByCode(each)),
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

const MAX_ELSEWHERE = 20;

/** Finds the districts that a query means in the other states, as far as their lists are known. */
export async function findElsewhere(
  query: string,
  states: readonly State[],
  country: Country,
): Promise<readonly DistrictRow[]> {
  const others = country.states.value.states.filter((state) => !states.includes(state));
  await indexNames(others, country, [query]);
  const { certainty, matches } = findDistrict(query, createDistrictSearch(others, country), MAX_ELSEWHERE).answer;
  return certainty === "guess" ? [] : matches.filter(({ match }) => match !== "similar");
}

/** A list without mandals does not mean that the district has none. */
const formatMandalCount = (count: number): Part =>
  count === 0 ? own("the catalog lists no mandals") : countPart(count, "mandal");

const describeDistrict = (row: DistrictRow): Text => say`${formatDistrict(row)}: ${formatMandalCount(row.mandalCount)}`;

const searchedName = ({ query, readAs }: FoundDistricts): string => readAs?.name ?? query;

/** Quotes the name that was searched for. The Latin spelling follows a name in an Indian script that no district has. */
function formatQueriedName({ answer, code }: Finding): Text {
  if (code !== undefined) return say`${code}`;
  const name = searchedName(answer);
  const isKnown = answer.matches.some(({ match }) => match !== "similar");
  return say`${quoted(name, MAX_DISPLAY_LENGTH)}${isIndianScript(name) && !isKnown && say` (${formatName(toLatin(name))})`}`;
}

function describeUnlisted(queriedName: Text, { state, headquartersOf, change }: UnlistedPlace): Text {
  const where = formatState(state);
  if (headquartersOf !== undefined)
    return say`${queriedName} is the headquarters of ${formatName(headquartersOf)} in ${where}, which is not in the list.`;
  const { status, year, restored, partOf } = change;
  const parents = join(partOf.map(formatName), " and ");
  if (status === "abolished")
    return say`${queriedName} in ${where} was abolished in ${year} and is part of ${parents} again.`;
  if (status === "announced")
    return say`${queriedName} in ${where} was announced in ${year}, out of ${parents}, and is not in the list.`;
  const again = restored !== undefined && say` and restored in ${restored}`;
  return say`${queriedName} in ${where} was made a district in ${year}${again}, part of ${parents} until then; it is not in the list.`;
}

function describeOwnDistrict({ state, change }: UnlistedPlace, { stateCode }: FoundDistrict): Text {
  if (change === undefined) return [];
  const where = state.code !== stateCode && say` in ${formatState(state)}`;
  const { status, year } = lastChange(change);
  return say` Its own district${where} was ${status} in ${year}.`;
}

const OTHER_CODES = say` Census codes are other numbers; they are not in this catalog.`;

/** Topics that users ask about and that no tool can answer. */
const NOT_IN_CATALOG = say` Not in this catalog: towns, blocks, names of mandals, population, area, borders. For a town, try its district.`;

const SUPPORTED_SCRIPTS_TEXT = say`Names are read in Latin letters and in nine Indian scripts (Devanagari, Bengali, Gurmukhi, Gujarati, Odia, Tamil, Telugu, Kannada, Malayalam): write it in one of them.`;

function describeNoMatch(finding: Finding, where: Text, coverage: Coverage, elsewhere: readonly DistrictRow[]): Text {
  const { answer, searchedState, unlisted } = finding;
  const queriedName = formatQueriedName(finding);
  if (isUnsupportedScript(answer.query))
    return say`${queriedName} is in letters that are not read. ${SUPPORTED_SCRIPTS_TEXT}`;
  const elsewhereText = elsewhere.length > 0 && say` Elsewhere: ${joinFirst(elsewhere.map(formatDistrict))}.`;
  if (unlisted !== undefined) return say`${describeUnlisted(queriedName, unlisted)}${elsewhereText}`;
  const place = searchedState === undefined ? where : say` in ${formatState(searchedState)}`;
  if (!coverage.complete && coverage.statesRead === 0)
    return say`${queriedName}${place} was not looked up: ${describeNotLoaded(coverage)}.${elsewhereText}`;
  if (finding.code !== undefined && coverage.complete)
    return say`No district has the LGD code ${queriedName}${place}.${elsewhereText}`;
  const soFar = !coverage.complete && say` so far: ${describeNotLoaded(coverage)}`;
  // The transliteration may be the reason, so the name is not denied.
  return isIndianScript(searchedName(answer))
    ? say`Found no name like ${queriedName}${place}${soFar}. Try it in Latin letters.${elsewhereText}`
    : say`No district like ${queriedName}${place}${soFar}.${elsewhereText}`;
}

/** Returns true if the name that was searched for is a form or a part of the district's name. */
const isOwnName = (answer: FoundDistricts, { name, match, kind }: FoundDistrict): boolean =>
  match === "exact" || kind === "short" || isPartOf(toNameForms(searchedName(answer)), toNameForms(name));

const lgdText = ({ lgdCode }: State): Text => (lgdCode === undefined ? [] : say`, LGD code ${formatName(lgdCode)}`);

function describeIdentity(queriedName: Text, { match, kind, since }: FoundDistrict): Text {
  if (match === "code") return say`LGD code ${queriedName} is `;
  if (match === "headquarters")
    return say`${queriedName} is ${own(kind === "city" ? "a city in" : "the headquarters of")} `;
  if (kind === "former")
    return say`${queriedName} ${since === undefined ? own("is a former name of ") : say`(until ${since}) is now `}`;
  if (kind === "later") return say`${queriedName} is a later name${since !== undefined && say` (since ${since})`} of `;
  return say`${queriedName} is `;
}

function formatGuess(row: FoundDistrict): Text {
  const { name, stateName, stateCode, via } = row;
  if (via === undefined) return formatDistrict(row);
  return say`${formatName(name)} (also ${quoted(via, MAX_DISPLAY_LENGTH)}) in ${formatState({ name: stateName, code: stateCode })}`;
}

function describeGuesses(queriedName: Text, { answer, omittedCount, partialMatchCount, unlisted }: Finding): Text {
  const { matches } = answer;
  const guesses = joinFirst(matches.map(formatGuess), omittedCount);
  if (unlisted !== undefined) return say`${describeUnlisted(queriedName, unlisted)} Similar names: ${guesses}.`;
  if (partialMatchCount > 0) {
    const part = toNameForms(searchedName(answer));
    const names = matches.filter(({ name }) => isPartOf(part, toNameForms(name))).map(formatDistrict);
    return say`${queriedName} is part of ${countPart(partialMatchCount, "name")}: ${joinFirst(names, partialMatchCount - names.length)}. ${forReader("Ask the user which one is meant", "Choose one")}.`;
  }
  // A transliteration is approximate, so the district may well have this name.
  const isLikely = (matches[0]?.score ?? 0) >= LIKELY_SCORE;
  const denial =
    isLikely || isIndianScript(searchedName(answer))
      ? say`${queriedName} may be `
      : say`No district named ${queriedName}. Closest: `;
  return say`${denial}${guesses}; confirm it with the user.`;
}

/** Reports numbers beside the name that are codes of other districts. */
const describeCoded = ({ coded = [] }: Finding): Text =>
  coded.flatMap((row) => say` ${formatName(row.districtCode)} is the LGD code of ${formatDistrict(row)}.`);

function describeFound(finding: Finding): Text {
  const { answer, omittedCount, stateWithoutMatch, unlisted } = finding;
  const { matches } = answer;
  const [best] = matches;
  if (best === undefined) return [];
  const queriedName = formatQueriedName(finding);
  const where =
    stateWithoutMatch &&
    say`${formatState(stateWithoutMatch)} has no district like ${queriedName}; elsewhere there is `;
  if (best.match === "similar") return describeGuesses(queriedName, finding);
  if (matches.length > 1) {
    const names = matches.map(formatDistrict);
    const isPair = names.length === 2 && omittedCount === 0 && where === undefined;
    const any = isPair ? join(names, " or ") : say`${!where && own("any of ")}${joinFirst(names, omittedCount)}`;
    return say`${where ?? say`${queriedName} could be `}${any}.${describeCoded(finding)}`;
  }
  const isClear = unlisted === undefined && isOwnName(answer, best);
  const what = where === undefined && !isClear ? describeIdentity(queriedName, best) : where;
  const also = unlisted && describeOwnDistrict(unlisted, best);
  return say`${what}${describeDistrict(best)}.${also}${describeCoded(finding)}`;
}

/** `where`: for example " in Goa (GA)" if the search is limited to one state. */
export function describeFinding(
  finding: Finding,
  coverage: Coverage,
  where: Text,
  elsewhere: readonly DistrictRow[],
): Text {
  const { answer, matchedState } = finding;
  if (matchedState !== undefined)
    return say`${quoted(answer.query, MAX_DISPLAY_LENGTH)} is the ${own(kindOfState(matchedState))} ${formatState(matchedState)}${lgdText(matchedState)}, with ${countPart(matchedState.districtCount, "district")}.`;
  return answer.matches.length === 0 ? describeNoMatch(finding, where, coverage, elsewhere) : describeFound(finding);
}

/** Explains what the catalog does not contain, if no listed district has the name: the query may be a town or another topic. */
export function describeHint({ answer, matchedState, unlisted, code }: Finding, coverage: Coverage): Text {
  if (code !== undefined) return OTHER_CODES;
  if (matchedState !== undefined || unlisted !== undefined || isUnsupportedScript(answer.query)) return [];
  // Without any list, the name was not looked up.
  if (answer.matches.length === 0) return coverage.statesRead === 0 ? [] : NOT_IN_CATALOG;
  return answer.matches[0]?.match === "similar" ? say` Towns are not listed.` : [];
}

/** Describes in at most one sentence how a query was interpreted if words were removed from it. */
export function describeInterpretation({ answer: { query, readAs } }: Finding): readonly Text[] {
  if (readAs?.name === undefined) return [];
  const where = readAs.state !== undefined && say` in ${readAs.state}`;
  return [say`${quoted(query, MAX_DISPLAY_LENGTH)} was read as ${quoted(readAs.name, MAX_DISPLAY_LENGTH)}${where}.`];
}

export const describeNamesakes = ({ requiredLists, code }: Finding, coverage: Coverage): Text =>
  requiredLists.all.length === 0
    ? []
    : say` Others may have this ${own(code === undefined ? "name" : "code")}: ${describeNotLoaded(coverage)}.`;

/** Describes the result for one of several names; undefined if its only row is sufficient: a district that has the name. */
export function describeUnclear(
  finding: Finding,
  coverage: Coverage,
  where: Text,
  elsewhere: readonly DistrictRow[],
): Text | undefined {
  const { answer, unlisted, coded = [] } = finding;
  const { matches, certainty, ambiguous } = answer;
  const isClear = certainty !== "guess" && ambiguous !== true && unlisted === undefined && coded.length === 0;
  return isClear && matches.length === 1 && matches[0]?.mandalCount !== 0
    ? undefined
    : describeFinding(finding, coverage, where, elsewhere);
}

function classOf({ answer, matchedState, unlisted }: Finding): (typeof CLASSES)[number] {
  const { certainty, ambiguous } = answer;
  if (matchedState !== undefined) return kindOfState(matchedState);
  if (certainty === "certain") return ambiguous === true ? "ambiguous" : "found";
  if (isAbolishedOrAnnounced(unlisted)) return "abolished or announced";
  return certainty === undefined ? "not found" : "guessed";
}

const CLASSES = [
  "found",
  "ambiguous",
  "guessed",
  "state",
  "union territory",
  "abolished or announced",
  "not found",
] as const;

export function describeFindings(findings: readonly Finding[], coverage: Coverage): Text {
  const classes = groupByKey(
    findings.map((finding) => [classOf(finding), quoted(finding.answer.query, MAX_DISPLAY_LENGTH)]),
  );
  const parts = CLASSES.flatMap((kind) => {
    const names = classes.get(kind) ?? [];
    if (kind === "found") return [say`${names.length} found`];
    const plurals = kind === "state" ? "states" : kind === "union territory" ? "union territories" : undefined;
    const count = plurals === undefined ? say`${names.length} ${own(kind)}` : countPart(names.length, kind, plurals);
    return names.length === 0 ? [] : [say`${count} (${joinFirst(names)})`];
  });
  const isCertain = findings.every(({ requiredLists }) => requiredLists.rows.length === 0);
  const uncertaintyText = !isCertain && say` Not final: ${describeNotLoaded(coverage)}.`;
  const hint = (classes.has("guessed") || classes.has("not found")) && NOT_IN_CATALOG;
  const codesHint = findings.some(({ code }) => code !== undefined) && OTHER_CODES;
  return say`Of ${countPart(findings.length, "name")}: ${join(parts, ", ")}.${uncertaintyText}${hint}${codesHint}`;
}
