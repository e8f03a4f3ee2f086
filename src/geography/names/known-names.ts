// Every name that a state's districts are known by: the list's own, and those of the public record for the districts that stand in
// the list. They are found there by sound and likeness, never letter by letter: lists spell one name in several ways.
import type { DistrictRow } from "../districts.ts";
import {
  hasSameSound,
  isDirection,
  isSameName,
  modifierInitials,
  type NameForms,
  nameSimilarity,
  toNameForms,
} from "./name-forms.ts";
import type { NameWithForms, OtherName, OtherNameKind, RecordedDistrict } from "./record/tables.ts";

export type NameKind =
  | OtherNameKind
  /** The district's name of today, where the list has its former name. */
  | "later"
  /** A great city that the district is not governed from. */
  | "city";

export interface KnownName extends NameWithForms {
  readonly row: DistrictRow;
  readonly match: "exact" | "alias" | "headquarters";
  readonly kind?: NameKind | undefined;
  /** The year in which a former name was replaced by today's. */
  readonly since?: number | undefined;
  /** Made from another name by this program: never compared by likeness, and second to a name that stands in the list. */
  readonly isGenerated?: true;
}

/** A district of the list, and the name of the record by which it was found: the district's own, or one that the list has instead. */
interface RecordMatch {
  readonly listed: KnownName;
  readonly matchedBy: RecordedDistrict | OtherName;
}

/** Likeness of two spellings of one name, within one state. */
const MIN_SPELLING_SIMILARITY = 0.84;
const MIN_INITIALS = 3;

/** Finds each recorded district in the list. The surest ways come first, and each finds a district of the list only once. */
function matchRecordedDistricts(recorded: readonly RecordedDistrict[], list: readonly KnownName[]) {
  const matchesByDistrict = new Map<RecordedDistrict, RecordMatch>();
  const all = recorded.flatMap(({ names }) => names.map(({ name }) => name));
  const selectOwnName = (district: RecordedDistrict) => [district];
  const selectUnambiguousNames = ({ names }: RecordedDistrict) =>
    names.filter(({ name }) => all.indexOf(name) === all.lastIndexOf(name));
  const selectSpelledNames = (district: RecordedDistrict) =>
    selectUnambiguousNames(district).filter(({ kind }) => kind !== "short");
  const isSimilar = (a: NameForms, b: NameForms): boolean => nameSimilarity(a, b) >= MIN_SPELLING_SIMILARITY;
  const strategies = [
    { selectNames: selectOwnName, isMatch: isSameName },
    { selectNames: selectOwnName, isMatch: hasSameSound },
    { selectNames: selectUnambiguousNames, isMatch: isSameName },
    { selectNames: selectSpelledNames, isMatch: hasSameSound },
    { selectNames: selectOwnName, isMatch: isSimilar },
  ];
  for (const { selectNames, isMatch } of strategies) {
    const matchedNames = new Set(Array.from(matchesByDistrict.values(), ({ listed }) => listed));
    const found = recorded.flatMap((district) => {
      if (matchesByDistrict.has(district)) return [];
      const names: readonly (RecordedDistrict | OtherName)[] = selectNames(district);
      const [recordMatch, ...otherMatches] = list.flatMap((listed): readonly RecordMatch[] => {
        const matchedBy = matchedNames.has(listed)
          ? undefined
          : names.find(({ forms }) => isMatch(forms, listed.forms));
        return matchedBy === undefined ? [] : [{ listed, matchedBy }];
      });
      return recordMatch === undefined || otherMatches.length > 0 ? [] : [{ district, target: recordMatch }];
    });
    for (const { district, target } of found)
      if (!found.some((other) => other.district !== district && other.target.listed === target.listed))
        matchesByDistrict.set(district, target);
  }
  return matchesByDistrict;
}

/** Names of the record for one district of the list. */
function namesFromRecord(district: RecordedDistrict, { listed, matchedBy }: RecordMatch): readonly KnownName[] {
  const { row } = listed;
  const { name, forms, names, towns } = district;
  const former = "kind" in matchedBy && matchedBy.kind === "former" ? matchedBy : undefined;
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

/** "Gautam Buddha Nagar" -> "GB Nagar", "GBN"; "Dadra And Nagar Haveli" -> "DNH"; "Lahaul And Spiti" -> "L And S". */
function toInitials({ ownWords }: NameForms): readonly string[] {
  const words = ownWords.filter((word) => word !== "and");
  const hasAnd = words.length < ownWords.length;
  if (words.some((word) => /\d/.test(word) || word.length < 3 || isDirection(word))) return [];
  const letters = words.map((word) => word.charAt(0));
  if (words.length < MIN_INITIALS) return hasAnd ? [letters.join(" and ")] : [];
  return hasAnd ? [letters.join("")] : [`${letters.slice(0, -1).join("")} ${words.at(-1)}`, letters.join("")];
}

/** "Uttar Dinajpur" -> "U Dinajpur"; "Bengaluru Urban" -> "Bengaluru U". */
function abbreviateModifier({ ownWords }: NameForms): readonly string[] {
  const at = ownWords.findIndex((word) => modifierInitials(word).length > 0);
  if (at < 0 || ownWords.length < 2) return [];
  return modifierInitials(ownWords[at] ?? "").map((letter) => ownWords.with(at, letter).join(" "));
}

/** The short forms that a name leads to. */
const createShortForms = ({ row, forms, kind = "short" }: KnownName): readonly KnownName[] =>
  [...toInitials(forms), ...abbreviateModifier(forms)].map((name) => {
    return { row, name, forms: toNameForms(name), match: "alias", kind, isGenerated: true };
  });

/** The beginning of a compound name is a name as well: "Balrampur" of "Balrampur-Ramanujganj", "Khandwa" of "Khandwa (East Nimar)". */
function createFirstPartName({ row, name }: KnownName): readonly KnownName[] {
  const parts = name.split(/\s*[-()]\s*|\s+and\s+/i).filter((part) => part !== "");
  if (parts.length < 2) return [];
  const [first, ...others] = parts.map((part) => ({ name: part, forms: toNameForms(part) }));
  const isName = (part: NameWithForms): boolean => part.name.length > 3 && !part.forms.ownWords.every(isDirection);
  return first && [first, ...others].every(isName) ? [{ row, ...first, match: "alias", kind: "short" }] : [];
}

/** The list's own names in its order, then the others. */
export function collectKnownNames(
  rows: readonly DistrictRow[],
  recorded: readonly RecordedDistrict[],
): readonly KnownName[] {
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
    ...listedNames.flatMap(createShortForms),
    ...aliases.flatMap(createShortForms),
  ];
}
