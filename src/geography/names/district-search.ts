// Finds the districts that a name may mean, in the lists that are known at one moment. It matches the name itself, another name
// of the place, its headquarters, or a similar name. It also decides which results are ambiguous; test/geography/names.test.ts
// covers this.
import { setImmediate as yieldToEventLoop } from "node:timers/promises";
import type { State } from "../../contract/playground.ts";
import type { Country } from "../country.ts";
import { type DistrictRow, findMissingStates, toDistrictRows } from "../districts.ts";
import { findUnlisted, withCreation } from "./changes.ts";
import {
  isDirection,
  isPartOf,
  type NameForms,
  nameSimilarity,
  toLetterPairs,
  toNameForms,
  toQueryForms,
} from "./name-forms.ts";
import { getIndex, isIndexed, type KnownName, type NameIndex, type NameKind, type NameLookup } from "./name-index.ts";
import { isIndianScript } from "./transliteration.ts";

export type NameMatch = "exact" | "alias" | "headquarters" | "similar" | "code";

export interface FoundDistrict extends DistrictRow {
  readonly match: NameMatch;
  /** Kind of an alias; "city" for a place in the district that is not its headquarters. */
  readonly kind?: NameKind;
  /** Year in which the current name replaced a former name. */
  readonly since?: number;
  /** For a similar match: the district's other name that resembles the query. */
  readonly via?: string;
  /** For a similar match: the similarity, from 0 to 1. */
  readonly score?: number;
}

/** Minimum similarity to a name in the list; weaker matches are omitted. */
const MIN_SCORE = 0.7;
/** Minimum similarity to any other name. It is higher, because a query resembles some of the many names by chance. */
const MIN_OTHER_SCORE = 0.78;
const OTHER_WEIGHT = 0.99;
const MAX_COMPARED = 90;
const MIN_PAIR_SHARE = 0.28;

const SCORES = { exact: 1, alias: 0.98, headquarters: 0.97 } as const;

interface ScoredName {
  readonly name: KnownName;
  readonly score: number;
}

function selectBestPerDistrict(matches: readonly ScoredName[]): readonly ScoredName[] {
  const best = new Map<DistrictRow, ScoredName>();
  for (const match of matches)
    if (match.score > (best.get(match.name.row)?.score ?? 0)) best.set(match.name.row, match);
  return [...best.values()];
}

const toNamedDistrict = ({ name: { row, match, kind, since } }: ScoredName): FoundDistrict => ({
  ...row,
  match,
  ...(kind !== undefined && { kind }),
  ...(since !== undefined && { since }),
});

const toSimilarDistrict = ({ name: { row, match, name }, score }: ScoredName): FoundDistrict => ({
  ...row,
  match: "similar",
  ...(match !== "exact" && { via: name }),
  score: Math.round(score * 100) / 100,
});

const compareByScore = (a: ScoredName, b: ScoredName): number =>
  b.score - a.score || (a.name.row.name < b.name.row.name ? -1 : 1);

/** Indexes the known lists of these states before a search for these queries, each in a separate turn of the event loop. */
export async function indexNames(
  states: readonly State[],
  country: Country,
  queries: readonly string[],
): Promise<void> {
  const hasIndianScript = queries.some(isIndianScript);
  for (const state of states) {
    if (isIndexed(state, country) && !hasIndianScript) continue;
    const index = getIndex(state, country);
    if (hasIndianScript) index?.getLocal();
    await yieldToEventLoop();
  }
}

export type DistrictSearch = ReturnType<typeof createDistrictSearch>;

/** Creates a search in the known lists of these states. Each function searches all of them, or only `state`. */
export function createDistrictSearch(states: readonly State[], country: Country) {
  const indexes = states.flatMap((state) => getIndex(state, country) ?? []);
  const getIndexes = (state?: State): readonly NameIndex[] =>
    state === undefined ? indexes : indexes.filter((index) => index.state.code === state.code);

  /** A query in Latin letters is not compared with transliterated names, because users spell names in other ways. */
  const getLookups = (forms: NameForms, state?: State): readonly NameLookup[] =>
    getIndexes(state).flatMap(({ latin, getLocal }) => (forms.isIndianScript ? [latin, getLocal()] : [latin]));

  function findByName(queryForms: readonly NameForms[], state?: State): readonly ScoredName[] {
    const found = findByKeys(queryForms, state);
    const [only, ...others] = state === undefined ? states : [state];
    const isShort = queryForms.every(({ ownWords }) => ownWords.every(isDirection));
    if (found.length > 0 || only === undefined || others.length > 0 || !isShort) return found;
    // "North" in Goa is short for "North Goa".
    const fullForms = queryForms.flatMap(({ ownWords }) => toQueryForms([...ownWords, only.name].join(" ")));
    return findByKeys(fullForms, state);
  }

  function findByKeys(queryForms: readonly NameForms[], state?: State): readonly ScoredName[] {
    const named: KnownName[] = [];
    const sounding: KnownName[] = [];
    for (const forms of queryForms)
      for (const { byKey } of getLookups(forms, state)) {
        for (const key of forms.keys) named.push(...(byKey.get(key) ?? []));
        if (forms.isIndianScript) for (const key of forms.soundKeys) sounding.push(...(byKey.get(key) ?? []));
      }
    // If a district has the transliterated name, names that only sound like it do not count.
    const names = named.length > 0 ? named : sounding;
    return selectBestPerDistrict(names.map((name) => ({ name, score: SCORES[name.match] })));
  }

  /** Finds the names that share the most letter pairs with the query, at most MAX_COMPARED. */
  function findCandidates(forms: NameForms, state?: State): readonly KnownName[] {
    const pairs = toLetterPairs(forms);
    const counts = new Map<KnownName, number>();
    for (const { byPair } of getLookups(forms, state))
      for (const pair of pairs)
        for (const name of byPair.get(pair) ?? []) counts.set(name, (counts.get(name) ?? 0) + 1);
    return [...counts]
      .filter(([, count]) => count >= pairs.size * MIN_PAIR_SHARE)
      .sort(([a, aCount], [b, bCount]) => bCount - aCount || a.forms.joined.sound.length - b.forms.joined.sound.length)
      .slice(0, MAX_COMPARED)
      .map(([name]) => name);
  }

  function findSimilar(queryForms: readonly NameForms[], state?: State): readonly ScoredName[] {
    const similar: ScoredName[] = [];
    for (const forms of queryForms)
      for (const name of findCandidates(forms, state)) {
        const isListedName = name.match === "exact";
        if (!isListedName && isPartOf(forms, name.forms)) continue;
        const score = nameSimilarity(forms, name.forms) * (isListedName ? 1 : OTHER_WEIGHT);
        if (score >= (isListedName ? MIN_SCORE : MIN_OTHER_SCORE)) similar.push({ name, score });
      }
    return selectBestPerDistrict(similar);
  }

  /** Names in the list that have the sound of the query; unless a listed name is equal to it, also those that contain its words. */
  function findRivals(queryForms: readonly NameForms[], isExact: boolean, state?: State): readonly ScoredName[] {
    const rivals = queryForms.flatMap((forms) =>
      getIndexes(state).flatMap(({ latin: { byKey } }) => {
        const [soundKey = ""] = forms.soundKeys;
        const sounding = (byKey.get(soundKey) ?? []).filter(({ match }) => match === "exact");
        const [{ text = "" } = {}] = isExact ? [] : forms.words;
        const containing = (byKey.get(`word ${text}`) ?? []).filter((name) => isPartOf(forms, name.forms));
        return [...sounding, ...containing].map((name) => ({ name, score: nameSimilarity(forms, name.forms) }));
      }),
    );
    return selectBestPerDistrict(rivals);
  }

  return {
    states,
    missing: findMissingStates(states, country),
    /** All states of the country, even if the search is limited to some of them. */
    allStates: country.states.value.states,
    search(text: string, state?: State) {
      const queryForms = toQueryForms(text);
      const namesakes = findByName(queryForms, state);
      // Generated short forms count only if no district in the list has the queried name itself.
      const isExact = namesakes.some(({ name }) => name.match === "exact");
      const named = namesakes.filter(({ name }) => !isExact || name.isGenerated !== true);
      const rows = new Set(namesakes.map(({ name }) => name.row));
      // If a district has the name, a similar name is not meant, unless it has the same sound, or it contains a name that is only an
      // alias: "Garo Hills" is a short form of two districts and a part of five names.
      const similar = (
        named.length === 0 ? findSimilar(queryForms, state) : findRivals(queryForms, isExact, state)
      ).filter(({ name }) => !rows.has(name.row));
      const found: readonly FoundDistrict[] = [
        ...named.toSorted(compareByScore).map(toNamedDistrict),
        ...similar.toSorted(compareByScore).map(toSimilarDistrict),
      ];
      return { found, ambiguous: named.length > 0 && found.length > 1 };
    },
    /** Finds the districts with this LGD code. */
    findByCode: (code: string): readonly FoundDistrict[] =>
      toDistrictRows(states, country).flatMap((row) => (row.districtCode === code ? { ...row, match: "code" } : [])),
    hasName: (text: string, state?: State): boolean => findByName(toQueryForms(text), state).length > 0,
    isSameDistrict(text: string, other: string): boolean {
      const rows = new Set(findByName(toQueryForms(other)).map(({ name }) => name.row));
      return findByName(toQueryForms(text)).filter(({ name }) => rows.has(name.row)).length === 1;
    },
    /** Number of names in the lists that contain every word of this text, and more words. */
    countPartialMatches(text: string): number {
      const queryForms = toNameForms(text);
      const names = indexes.flatMap((index) => index.names);
      return names.filter(({ match, forms }) => match === "exact" && isPartOf(queryForms, forms)).length;
    },
    findUnlisted: (texts: readonly string[], state?: State) => findUnlisted(texts, getIndexes(state)),
    /** Adds the year and the parents of recently created districts to matches that are not guesses. */
    withCreations: (matches: readonly FoundDistrict[]): readonly FoundDistrict[] =>
      matches.map((match) => (match.match === "similar" ? match : withCreation(match, country))),
  };
}
