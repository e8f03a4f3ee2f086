// Which districts a name may mean: by the very name, by another name of the same place, by the town it is governed from, by
// likeness. What is shown and what is told as doubtful is decided here; test/geography/names.test.ts holds it.
import type { State } from "../../contract/playground.ts";
import { withDirections } from "./fold.ts";
import { type KnownName, knownNames, type NameKind } from "./known-names.ts";
import { formsOf, isPartOf, isSameName, type NameForms, nameLikeness, pairsOf, soundsSame } from "./likeness.ts";

export type NameMatch = "exact" | "alias" | "seat" | "similar";

export interface SearchResult<T> {
  readonly item: T;
  readonly match: NameMatch;
  /** Of an alias; "city" of a seat that is none. */
  readonly kind?: NameKind;
  /** Of a former or later name: when the name changed. */
  readonly since?: number;
  /** Of a likeness: the district's other name that the asked one is like. */
  readonly via?: string;
  /** 0 to 1. */
  readonly score: number;
}

export interface Search<T> {
  /** Best first. */
  readonly found: readonly SearchResult<T>[];
  /** More than one of them may be meant. */
  readonly ambiguous: boolean;
}

/** A state's districts by all their names, ready to be searched. */
export interface NameIndex<T> {
  readonly names: readonly KnownName<T>[];
  readonly byKey: ReadonlyMap<string, readonly KnownName<T>[]>;
  readonly bySound: ReadonlyMap<string, readonly KnownName<T>[]>;
  /** Which names, by their place in `names`, have a pair of letters. */
  readonly byPair: ReadonlyMap<string, readonly number[]>;
}

/** Weaker matches than this are left out. */
const MIN_SCORE = 0.7;
/** The same of a likeness to another name than the list's: there are many. */
const MIN_OTHER_SCORE = 0.78;
/** The same, where a district bears the name: others only by the list's own names. */
const MIN_SCORE_BESIDE_NAMED = 0.75;
/** So like a name of the list that an alias of another district may not be meant. */
const RIVAL_SCORE = 0.9;
const OTHER_WEIGHT = 0.99;
const MAX_COMPARED = 90;
const MIN_PAIRS = 0.28;

const SCORES = { exact: 1, alias: 0.98, seat: 0.97 } as const;
const RANK: Readonly<Record<NameMatch, number>> = { exact: 0, alias: 1, seat: 2, similar: 3 };

function grouped<K, V>(entries: Iterable<readonly [K, V]>): ReadonlyMap<K, readonly V[]> {
  const groups = new Map<K, V[]>();
  for (const [key, value] of entries) {
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [value]);
    else group.push(value);
  }
  return groups;
}

export function indexNames<T>(items: readonly T[], nameOf: (item: T) => string, state: State): NameIndex<T> {
  const names = knownNames(items, nameOf, state);
  const spelt = names.map((name, place) => ({ name, place })).filter(({ name }) => name.isInitials !== true);
  return {
    names,
    byKey: grouped(names.flatMap((name) => name.forms.keys.map((key) => [key, name] as const))),
    bySound: grouped(spelt.flatMap(({ name }) => name.forms.soundKeys.map((key) => [key, name] as const))),
    byPair: grouped(spelt.flatMap(({ name, place }) => [...pairsOf(name.forms)].map((pair) => [pair, place] as const))),
  };
}

/** The asked name in each way that it may be meant. */
function askedForms(name: string): readonly NameForms[] {
  const said = withDirections(name);
  return [formsOf(name), ...(said === undefined ? [] : [formsOf(said)])];
}

/** The districts that bear the name, each by its best one. */
function namedIn<T>(asked: readonly NameForms[], indexes: readonly NameIndex<T>[]): readonly KnownName<T>[] {
  const keys = new Set(asked.flatMap(({ keys }) => keys));
  const sounds = new Set(asked.flatMap(({ isIndianScript, soundKeys }) => (isIndianScript ? soundKeys : [])));
  const named = indexes.flatMap(({ byKey, bySound }) => [
    ...[...keys].flatMap((key) => byKey.get(key) ?? []),
    ...[...sounds].flatMap((key) => bySound.get(key) ?? []),
  ]);
  const best = new Map<T, KnownName<T>>();
  for (const name of named) {
    const other = best.get(name.item);
    if (other === undefined || RANK[name.match] < RANK[other.match]) best.set(name.item, name);
  }
  return [...best.values()];
}

/** The districts that bear both names. */
export function namedBoth<T>(one: string, other: string, indexes: readonly NameIndex<T>[]): readonly T[] {
  const items = (name: string) => namedIn(askedForms(name), indexes).map(({ item }) => item);
  const second = new Set(items(other));
  return items(one).filter((item) => second.has(item));
}

/** One of the names is the asked one: more than a likeness. */
export const isNamedIn = <T>(asked: string, indexes: readonly NameIndex<T>[]): boolean =>
  namedIn(askedForms(asked), indexes).length > 0;

/** The names that share most pairs of letters with it. */
function candidates<T>(asked: NameForms, indexes: readonly NameIndex<T>[]): readonly KnownName<T>[] {
  const pairs = pairsOf(asked);
  const least = pairs.size * MIN_PAIRS;
  const shared = indexes.flatMap(({ names, byPair }) => {
    const counts = new Map<number, number>();
    for (const pair of pairs)
      for (const place of byPair.get(pair) ?? []) counts.set(place, (counts.get(place) ?? 0) + 1);
    return [...counts].flatMap(([place, count]) => {
      const name = names[place];
      return name === undefined || count < least ? [] : [{ name, count }];
    });
  });
  const nearest = shared.toSorted(
    (a, b) => b.count - a.count || a.name.forms.run.sound.length - b.name.forms.run.sound.length,
  );
  return nearest.slice(0, MAX_COMPARED).map(({ name }) => name);
}

interface Likeness<T> {
  readonly name: KnownName<T>;
  readonly score: number;
}

/** The districts whose names are like it, each by its likest one. */
function likeIn<T>(asked: readonly NameForms[], indexes: readonly NameIndex<T>[]): readonly Likeness<T>[] {
  const best = new Map<T, Likeness<T>>();
  for (const forms of asked)
    for (const name of candidates(forms, indexes)) {
      const isOwn = name.match === "exact";
      if (!isOwn && isPartOf(forms, name.forms)) continue;
      const score = nameLikeness(forms, name.forms) * (isOwn ? 1 : OTHER_WEIGHT);
      if (score < (isOwn ? MIN_SCORE : MIN_OTHER_SCORE) || score <= (best.get(name.item)?.score ?? 0)) continue;
      best.set(name.item, { name, score });
    }
  return [...best.values()];
}

const asNamed = <T>({ item, match, kind, since }: KnownName<T>): SearchResult<T> => ({
  item,
  match,
  ...(kind !== undefined && { kind }),
  ...(since !== undefined && { since }),
  score: SCORES[match],
});

const asLike = <T>({ name: { item, match, name }, score }: Likeness<T>): SearchResult<T> => ({
  item,
  match: "similar",
  ...(match !== "exact" && { via: name }),
  score: Math.round(score * 100) / 100,
});

/** What of the named ones is told: what we made of a name only where nothing bears the asked one itself. */
const tellable = <T>(named: readonly KnownName<T>[]): readonly KnownName<T>[] =>
  named.some(({ match }) => match === "exact") ? named.filter(({ isInitials }) => isInitials !== true) : named;

const isSpelling = (asked: readonly NameForms[], { forms }: KnownName<unknown>): boolean =>
  asked.some((each) => soundsSame(each, forms));

export function searchIndexes<T>(
  asked: string,
  indexes: readonly NameIndex<T>[],
  textOf: (item: T) => string,
): Search<T> {
  const forms = askedForms(asked);
  const all = namedIn(forms, indexes);
  const named = tellable(all);
  const isExact = named.some(({ match }) => match === "exact");
  const items = new Set(all.map(({ item }) => item));
  const like = likeIn(forms, indexes).filter(
    ({ name, score }) =>
      !items.has(name.item) && (named.length === 0 || (name.match === "exact" && score >= MIN_SCORE_BESIDE_NAMED)),
  );
  const isRival = ({ name, score }: Likeness<T>): boolean =>
    name.match === "exact" && (isSpelling(forms, name) || (!isExact && score >= RIVAL_SCORE));
  const found = [...named.map(asNamed), ...like.map(asLike)].toSorted(
    (a, b) => RANK[a.match] - RANK[b.match] || b.score - a.score || (textOf(a.item) < textOf(b.item) ? -1 : 1),
  );
  // A likeness is a guess, even where it is the only one; so is that a city's name means its district.
  const isCity = named.some(({ match, kind }) => match === "seat" && kind === "city");
  const ambiguous = named.length === 0 ? found.length > 0 : named.length > 1 || isCity || like.some(isRival);
  return { found, ambiguous };
}

/** How many of the names have all the asked words among others. */
export function partOfNames<T>(asked: string, indexes: readonly NameIndex<T>[]): number {
  const forms = formsOf(asked);
  return indexes
    .flatMap(({ names }) => names)
    .filter(({ match, forms: name }) => match === "exact" && isPartOf(forms, name)).length;
}

/** Whether a list has this district, under whatever name. */
export const isListedIn = <T>(district: string, indexes: readonly NameIndex<T>[]): boolean => {
  const forms = formsOf(district);
  return indexes.some(({ names }) =>
    names.some(({ match, forms: name }) => match !== "seat" && (isSameName(forms, name) || soundsSame(forms, name))),
  );
};
