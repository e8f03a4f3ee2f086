// Every name that a state's districts are known by: the list's own, and those of the public record for the districts that stand in
// the list. They are found there by sound and likeness, never letter by letter: lists spell one name in several ways.
import type { DistrictRow } from "../districts.ts";
import { formsOf, isDirection, isSameName, lettersOf, type NameForms, nameLikeness, soundsSame } from "./fold.ts";
import type { Named, OtherName, OtherNameKind, RecordedDistrict } from "./record/tables.ts";

export type NameKind =
  | OtherNameKind
  /** The district's name of today, where the list has its former name. */
  | "later"
  /** A great city that the district is not governed from. */
  | "city";

export interface KnownName extends Named {
  readonly row: DistrictRow;
  readonly match: "exact" | "alias" | "seat";
  readonly kind?: NameKind | undefined;
  /** The year in which a former name was replaced by today's. */
  readonly since?: number | undefined;
  /** Made from another name by this program: never compared by likeness, and second to a name that stands in the list. */
  readonly isInitials?: true;
}

/** A district of the list, and the name of the record by which it was found: the district's own, or one that the list has instead. */
interface Target {
  readonly listed: KnownName;
  readonly through: RecordedDistrict | OtherName;
}

/** Likeness of two spellings of one name, within one state. */
const MIN_SPELLING_SIMILARITY = 0.84;
const MIN_INITIALS = 3;

/** Finds each recorded district in the list. The surest ways come first, and each finds a district of the list only once. */
function targetsOf(recorded: readonly RecordedDistrict[], list: readonly KnownName[]) {
  const targets = new Map<RecordedDistrict, Target>();
  const all = recorded.flatMap(({ names }) => names.map(({ name }) => name));
  const own = (district: RecordedDistrict) => [district];
  const others = ({ names }: RecordedDistrict) =>
    names.filter(({ name }) => all.indexOf(name) === all.lastIndexOf(name));
  const spelled = (district: RecordedDistrict) => others(district).filter(({ kind }) => kind !== "short");
  const isLike = (a: NameForms, b: NameForms): boolean => nameLikeness(a, b) >= MIN_SPELLING_SIMILARITY;
  const ways = [
    { namesOf: own, isIt: isSameName },
    { namesOf: own, isIt: soundsSame },
    { namesOf: others, isIt: isSameName },
    { namesOf: spelled, isIt: soundsSame },
    { namesOf: own, isIt: isLike },
  ];
  for (const { namesOf, isIt } of ways) {
    const taken = new Set(Array.from(targets.values(), ({ listed }) => listed));
    const found = recorded.flatMap((district) => {
      if (targets.has(district)) return [];
      const names: readonly (RecordedDistrict | OtherName)[] = namesOf(district);
      const [target, ...rest] = list.flatMap((listed): readonly Target[] => {
        const through = taken.has(listed) ? undefined : names.find(({ forms }) => isIt(forms, listed.forms));
        return through === undefined ? [] : [{ listed, through }];
      });
      return target === undefined || rest.length > 0 ? [] : [{ district, target }];
    });
    for (const { district, target } of found)
      if (!found.some((other) => other.district !== district && other.target.listed === target.listed))
        targets.set(district, target);
  }
  return targets;
}

/** Names of the record for one district of the list. */
function fromRecord(district: RecordedDistrict, { listed, through }: Target): readonly KnownName[] {
  const { row } = listed;
  const { name, forms, names, seats } = district;
  const former = "kind" in through && through.kind === "former" ? through : undefined;
  const known: readonly KnownName[] = [
    { row, name, forms, match: "alias", kind: former ? "later" : "spelling", since: former?.since },
    ...names.map((other): KnownName => {
      return { ...other, row, match: "alias", since: through === district ? other.since : undefined };
    }),
    ...seats.map(({ isSeat, ...seat }): KnownName => {
      return { ...seat, row, match: "seat", kind: isSeat ? undefined : "city" };
    }),
  ];
  return known.filter((each) => !isSameName(each.forms, listed.forms));
}

/** "Gautam Buddha Nagar" -> "GB Nagar", "GBN"; "Dadra And Nagar Haveli" -> "DNH"; "Lahaul And Spiti" -> "L And S". */
function initialsOf({ ownWords }: NameForms): readonly string[] {
  const words = ownWords.filter((word) => word !== "and");
  const hasAnd = words.length < ownWords.length;
  if (words.some((word) => /\d/.test(word) || word.length < 3 || isDirection(word))) return [];
  const letters = words.map((word) => word.charAt(0));
  if (words.length < MIN_INITIALS) return hasAnd ? [letters.join(" and ")] : [];
  return hasAnd ? [letters.join("")] : [`${letters.slice(0, -1).join("")} ${words.at(-1)}`, letters.join("")];
}

/** "Uttar Dinajpur" -> "U Dinajpur"; "Bengaluru Urban" -> "Bengaluru U". */
function withLetter({ ownWords }: NameForms): readonly string[] {
  const at = ownWords.findIndex((word) => lettersOf(word).length > 0);
  if (at < 0 || ownWords.length < 2) return [];
  return lettersOf(ownWords[at] ?? "").map((letter) => ownWords.with(at, letter).join(" "));
}

/** The short forms that a name leads to. */
const shortForms = ({ row, forms, kind = "short" }: KnownName): readonly KnownName[] =>
  [...initialsOf(forms), ...withLetter(forms)].map((name) => {
    return { row, name, forms: formsOf(name), match: "alias", kind, isInitials: true };
  });

/** The beginning of a compound name is a name as well: "Balrampur" of "Balrampur-Ramanujganj", "Khandwa" of "Khandwa (East Nimar)". */
function firstPartOf({ row, name }: KnownName): readonly KnownName[] {
  const parts = name.split(/\s*[-()]\s*|\s+and\s+/i).filter((part) => part !== "");
  if (parts.length < 2) return [];
  const [first, ...others] = parts.map((part) => ({ name: part, forms: formsOf(part) }));
  const isName = (part: Named): boolean => part.name.length > 3 && !part.forms.ownWords.every(isDirection);
  return first && [first, ...others].every(isName) ? [{ row, ...first, match: "alias", kind: "short" }] : [];
}

/** The list's own names in its order, then the others. */
export function knownNames(rows: readonly DistrictRow[], recorded: readonly RecordedDistrict[]): readonly KnownName[] {
  const own = rows.map((row): KnownName => ({ row, name: row.name, forms: formsOf(row.name), match: "exact" }));
  const others = [...targetsOf(recorded, own)].flatMap(([district, target]) => fromRecord(district, target));
  const aliases = others.filter(({ match }) => match === "alias");
  return [...own, ...others, ...own.flatMap(firstPartOf), ...own.flatMap(shortForms), ...aliases.flatMap(shortForms)];
}
