// Collects all names of a state's districts, and finds them by their keys and letter pairs. The names come from the list, and from the
// public record for districts in the list. Recorded districts are matched to the list by sound and similarity, because lists spell the
// same name in several ways.

import type { DistrictsResponse, State } from "../../contract/playground.ts";
import { groupByKey } from "../../core/counts.ts";
import { once } from "../../core/once.ts";
import type { Country } from "../country.ts";
import { type DistrictRow, toDistrictRows } from "../districts.ts";
import {
  hasSameSound,
  isDirection,
  isSameName,
  modifierInitials,
  type NameForms,
  nameSimilarity,
  toLetterPairs,
  toNameForms,
} from "./name-forms.ts";
import {
  loadLocallyNamedDistricts,
  loadNewDistricts,
  loadRecordedDistricts,
  type NameWithForms,
  type NewDistrict,
  type OtherName,
  type OtherNameKind,
  type RecordedDistrict,
} from "./record/tables.ts";
import { findRecordedState } from "./resolve-state.ts";

export type NameKind =
  | OtherNameKind
  /** The district's current name, if the list has its former name. */
  | "later"
  /** A large city in the district that is not its headquarters. */
  | "city";

export interface KnownName extends NameWithForms {
  readonly row: DistrictRow;
  readonly match: "exact" | "alias" | "headquarters";
  readonly kind?: NameKind;
  /** Year in which the current name replaced a former name. */
  readonly since?: number;
  /** Generated from another name. It is never compared by similarity, and a name in the list has priority over it. */
  readonly isGenerated?: true;
}

/** A district in the list, and the recorded name that matches it: the district's own name, or another name that the list uses. */
interface RecordMatch {
  readonly listed: KnownName;
  readonly matchedBy: RecordedDistrict | OtherName;
}

/** Minimum similarity of two spellings of one name, within one state. */
const MIN_SPELLING_SIMILARITY = 0.84;
const MIN_INITIALS = 3;

/** The most certain strategies come first, and each district in the list is matched only once. */
function matchRecordedDistricts<T extends RecordedDistrict>(recorded: readonly T[], list: readonly KnownName[]) {
  const matches = new Map<T, RecordMatch>();
  const all = recorded.flatMap(({ names }) => names.map(({ name }) => name));
  const isUnambiguous = ({ name }: OtherName): boolean => all.indexOf(name) === all.lastIndexOf(name);
  const selectOwnName = (district: RecordedDistrict) => [district];
  const selectOtherNames = ({ names }: RecordedDistrict) => names.filter(isUnambiguous);
  const selectSpelledNames = ({ names }: RecordedDistrict) =>
    names.filter((name) => name.kind !== "short" && isUnambiguous(name));
  const isSimilar = (a: NameForms, b: NameForms): boolean => nameSimilarity(a, b) >= MIN_SPELLING_SIMILARITY;
  const strategies = [
    { selectNames: selectOwnName, isMatch: isSameName },
    { selectNames: selectOwnName, isMatch: hasSameSound },
    { selectNames: selectOtherNames, isMatch: isSameName },
    { selectNames: selectSpelledNames, isMatch: hasSameSound },
    { selectNames: selectOwnName, isMatch: isSimilar },
  ];
  for (const { selectNames, isMatch } of strategies) {
    const matched = new Set(Array.from(matches.values(), ({ listed }) => listed));
    const free = list.filter((listed) => !matched.has(listed));
    const candidates: [KnownName, { readonly district: T; readonly recordMatch: RecordMatch }][] = [];
    for (const district of recorded) {
      if (matches.has(district)) continue;
      const names: readonly (RecordedDistrict | OtherName)[] = selectNames(district);
      const [recordMatch, ...others] = free.flatMap((listed): readonly RecordMatch[] => {
        const matchedBy = names.find(({ forms }) => isMatch(forms, listed.forms));
        return matchedBy === undefined ? [] : [{ listed, matchedBy }];
      });
      if (recordMatch && others.length === 0) candidates.push([recordMatch.listed, { district, recordMatch }]);
    }
    for (const [candidate, ...rivals] of groupByKey(candidates).values())
      if (candidate && rivals.length === 0) matches.set(candidate.district, candidate.recordMatch);
  }
  return matches;
}

/** Returns the former name that the list still uses; undefined if it uses the current name. */
const formerNameInList = ({ matchedBy }: RecordMatch): OtherName | undefined =>
  "kind" in matchedBy && matchedBy.kind === "former" ? matchedBy : undefined;

function namesFromRecord(district: RecordedDistrict, recordMatch: RecordMatch): readonly KnownName[] {
  const { listed, matchedBy } = recordMatch;
  const { row } = listed;
  const { name, forms, names, towns } = district;
  const former = formerNameInList(recordMatch);
  const known: readonly KnownName[] = [
    { row, name, forms, match: "alias", kind: former ? "later" : "spelling", since: former?.since },
    ...names.map((other): KnownName => {
      return { ...other, row, match: "alias", since: matchedBy === district ? other.since : undefined };
    }),
    ...towns.map(({ isHeadquarters, ...town }): KnownName => {
      return { ...town, row, match: "headquarters", kind: isHeadquarters ? undefined : "city" };
    }),
  ];
  return known.filter((each) => !isSameName(each.forms, listed.forms));
}

/** "Gautam Buddha Nagar" -> "GB Nagar", "GBN"; "Dadra And Nagar Haveli" -> "D And N Haveli", "DNH"; "Lahaul And Spiti" -> "L And S". */
function toInitials({ ownWords }: NameForms): readonly string[] {
  const words = ownWords.filter((word) => word !== "and");
  const hasAnd = words.length < ownWords.length;
  if (words.some((word) => /\d/.test(word) || word.length < 3 || isDirection(word))) return [];
  const letters = words.map((word) => word.charAt(0));
  if (words.length < MIN_INITIALS) return hasAnd ? [letters.join(" and ")] : [];
  return [`${letters.slice(0, -1).join(hasAnd ? " and " : "")} ${words.at(-1)}`, letters.join("")];
}

/** "Uttar Dinajpur" -> "U Dinajpur"; "Bengaluru Urban" -> "Bengaluru U". */
function abbreviateModifier({ ownWords }: NameForms): readonly string[] {
  const at = ownWords.findIndex((word) => modifierInitials(word).length > 0);
  if (at < 0 || ownWords.length < 2) return [];
  return modifierInitials(ownWords[at] ?? "").map((letter) => ownWords.with(at, letter).join(" "));
}

const createShortForms = ({ row, forms, kind = "short" }: KnownName): readonly KnownName[] =>
  [...toInitials(forms), ...abbreviateModifier(forms)].map((name) => {
    return { row, name, forms: toNameForms(name), match: "alias", kind, isGenerated: true };
  });

/** The first part of a compound name is also a name: "Khandwa" of "Khandwa (East Nimar)". */
function createFirstPartName({ row, name }: KnownName): readonly KnownName[] {
  const parts = name.split(/\s*[-()]\s*|\s+and\s+/i).filter((part) => part !== "");
  if (parts.length < 2) return [];
  const [first, ...others] = parts.map((part) => ({ name: part, forms: toNameForms(part) }));
  const isName = (part: NameWithForms): boolean => part.name.length > 3 && !part.forms.ownWords.every(isDirection);
  return first && [first, ...others].every(isName) ? [{ row, ...first, match: "alias", kind: "short" }] : [];
}

/** Returns the list's own names in the order of the list, then the others in Latin letters. */
function collectNames(rows: readonly DistrictRow[], recorded: readonly RecordedDistrict[]): readonly KnownName[] {
  const listedNames = rows.map(
    (row): KnownName => ({ row, name: row.name, forms: toNameForms(row.name), match: "exact" }),
  );
  const recordedNames = [...matchRecordedDistricts(recorded, listedNames)].flatMap(([district, recordMatch]) =>
    namesFromRecord(district, recordMatch),
  );
  const aliases = recordedNames.filter(({ match }) => match === "alias");
  return [
    ...listedNames,
    ...recordedNames,
    ...listedNames.flatMap(createFirstPartName),
    ...[...listedNames, ...aliases].flatMap(createShortForms),
  ];
}

/** A name in an Indian script is the district's own name, unless the list has a former name of the district. */
function collectLocalNames({ names, recordedState }: NameIndex): readonly KnownName[] {
  const listedNames = names.filter(({ match }) => match === "exact");
  const recorded = loadLocallyNamedDistricts(recordedState);
  return [...matchRecordedDistricts(recorded, listedNames)].flatMap(([{ localNames }, recordMatch]) => {
    const { row } = recordMatch.listed;
    const former = formerNameInList(recordMatch);
    return localNames.map(
      (name): KnownName =>
        former === undefined
          ? { ...name, row, match: "exact" }
          : { ...name, row, match: "alias", kind: "later", since: former.since },
    );
  });
}

export interface NameLookup {
  readonly byKey: ReadonlyMap<string, readonly KnownName[]>;
  readonly byPair: ReadonlyMap<string, readonly KnownName[]>;
}

function createLookup(names: readonly KnownName[]): NameLookup {
  const byKey: [string, KnownName][] = [];
  const byPair: [string, KnownName][] = [];
  for (const name of names) for (const key of name.forms.keys) byKey.push([key, name]);
  for (const name of names) {
    if (name.isGenerated) continue;
    for (const key of name.forms.soundKeys) byKey.push([key, name]);
    if (name.match === "exact") for (const { text } of name.forms.words) byKey.push([`word ${text}`, name]);
    for (const pair of toLetterPairs(name.forms)) byPair.push([pair, name]);
  }
  return { byKey: groupByKey(byKey), byPair: groupByKey(byPair) };
}

export interface NameIndex {
  readonly state: State;
  /** The state's name in the public record; empty if it has none. */
  readonly recordedState: string;
  readonly names: readonly KnownName[];
  readonly latin: NameLookup;
  /** Returns the lookup of the names in Indian scripts, which is created for the first query in one of these scripts. */
  readonly getLocal: () => NameLookup;
  readonly getCreations: () => ReadonlyMap<string, NewDistrict>;
}

function findCreations({ names, recordedState }: NameIndex): ReadonlyMap<string, NewDistrict> {
  const candidates = names.filter(
    ({ match, kind, isGenerated }) => match !== "headquarters" && kind !== "short" && isGenerated !== true,
  );
  const creations = new Map<string, NewDistrict>();
  for (const change of loadNewDistricts().get(recordedState) ?? []) {
    if (change.status !== "made") continue;
    const listed =
      candidates.find(({ forms }) => isSameName(change.forms, forms)) ??
      candidates.find(({ forms }) => hasSameSound(change.forms, forms));
    if (listed !== undefined) creations.set(listed.row.districtCode, change);
  }
  return creations;
}

function createIndex(state: State, country: Country): NameIndex {
  const recordedState = findRecordedState(state)?.name ?? "";
  const names = collectNames(toDistrictRows([state], country), loadRecordedDistricts().get(recordedState) ?? []);
  const index: NameIndex = {
    state,
    recordedState,
    names,
    latin: createLookup(names),
    getLocal: once(() => createLookup(collectLocalNames(index))),
    getCreations: once(() => findCreations(index)),
  };
  return index;
}

const indexes = new WeakMap<DistrictsResponse, NameIndex>();

/** Whether nothing remains to be indexed: the state's list is indexed or missing. */
export function isIndexed({ code }: State, { lists }: Country): boolean {
  const list = lists.get(code)?.value;
  return list === undefined || indexes.has(list);
}

export function getIndex(state: State, country: Country): NameIndex | undefined {
  const list = country.lists.get(state.code)?.value;
  if (list === undefined) return undefined;
  const cached = indexes.get(list);
  if (cached?.state.name === state.name && cached.state.code === state.code) return cached;
  const index = createIndex(state, country);
  indexes.set(list, index);
  return index;
}
