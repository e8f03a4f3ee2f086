// Every name that a state's districts are known by: the list's own, and of the public record those whose district stands in
// the list. It is found there by sound and likeness, never letter for letter: lists spell one name in several ways.
import type { State } from "../../contract/playground.ts";
import { isDirection, lettersOf, wordsOf } from "./fold.ts";
import { formsOf, isSameName, type NameForms, nameLikeness, soundsSame } from "./likeness.ts";
import { type OtherName, type OtherNameKind, otherNames, recordedStates, type Seat, seats } from "./record/tables.ts";
import { isStateOfRecord } from "./state.ts";

export type NameKind =
  | OtherNameKind
  /** What the district is called since; the list has it under its name before. */
  | "later"
  /** A great city that the district is not governed from. */
  | "city";

export interface KnownName<T> {
  readonly item: T;
  readonly name: string;
  readonly forms: NameForms;
  readonly match: "exact" | "alias" | "seat";
  readonly kind?: NameKind;
  readonly since?: number;
  /** Made of a name by us: no rival of one that stands in the list, and nothing that a misspelling leads to. */
  readonly isInitials?: true;
}

interface Live<T> {
  readonly item: T;
  readonly name: string;
  readonly forms: NameForms;
}

/** What the record has of one district. */
interface Entry {
  readonly district: string;
  readonly forms: NameForms;
  readonly names: readonly OtherName[];
  readonly seats: readonly Seat[];
}

interface Target<T> {
  readonly live: Live<T>;
  /** The name of the record that the list has in place of today's. */
  readonly through?: OtherName;
}

/** As like as two spellings of one name are, within one state. */
const SURE = 0.84;

function entriesOf(state: State): readonly Entry[] {
  const own = recordedStates().filter((name) => isStateOfRecord(name, state));
  const names = own.flatMap((name) => otherNames().get(name) ?? []);
  const towns = own.flatMap((name) => seats().get(name) ?? []);
  return [...new Set([...names, ...towns].map(({ district }) => district))].map((district) => ({
    district,
    forms: formsOf(district),
    names: names.filter((row) => row.district === district),
    seats: towns.filter((row) => row.district === district),
  }));
}

/** Which of the list's districts each one of the record is. The surest ways come first; what one has found is taken. */
function targetsOf<T>(entries: readonly Entry[], live: readonly Live<T>[]): ReadonlyMap<Entry, Target<T>> {
  const targets = new Map<Entry, Target<T>>();
  const taken = new Set<Live<T>>();
  const follow = (way: (entry: Entry, free: readonly Live<T>[]) => readonly Target<T>[]): void => {
    const free = live.filter((each) => !taken.has(each));
    const found = entries.flatMap((entry) => {
      const [target, ...others] = targets.has(entry) ? [] : way(entry, free);
      return target === undefined || others.length > 0 ? [] : [{ entry, target }];
    });
    for (const { entry, target } of found) {
      if (found.some((other) => other.entry !== entry && other.target.live === target.live)) continue;
      targets.set(entry, target);
      taken.add(target.live);
    }
  };
  const borne = new Map<string, number>();
  for (const { name } of entries.flatMap(({ names }) => names)) borne.set(name, (borne.get(name) ?? 0) + 1);
  const bornOnce = ({ name }: OtherName): boolean => borne.get(name) === 1;
  const through = (rows: readonly OtherName[], free: readonly Live<T>[], isIt: typeof isSameName) =>
    free.flatMap((each) => {
      const row = rows.find(({ name }) => isIt(formsOf(name), each.forms));
      return row === undefined ? [] : [{ live: each, through: row }];
    });
  follow(({ forms }, free) => free.filter((each) => isSameName(forms, each.forms)).map((each) => ({ live: each })));
  follow(({ forms }, free) => free.filter((each) => soundsSame(forms, each.forms)).map((each) => ({ live: each })));
  follow(({ names }, free) => through(names.filter(bornOnce), free, isSameName));
  const isSpelt = ({ kind }: OtherName): boolean => kind !== "short";
  follow(({ names }, free) => through(names.filter(bornOnce).filter(isSpelt), free, soundsSame));
  follow(({ forms }, free) =>
    free.filter((each) => nameLikeness(forms, each.forms) >= SURE).map((each) => ({ live: each })),
  );
  return targets;
}

/** Names of the record for one district of the list. */
function fromRecord<T>(
  { district, names, seats: towns }: Entry,
  { live, through }: Target<T>,
): readonly KnownName<T>[] {
  const known = (name: string, rest: Pick<KnownName<T>, "match" | "kind" | "since">): KnownName<T> => ({
    item: live.item,
    name,
    forms: formsOf(name),
    ...rest,
  });
  const since = through?.since;
  const today =
    through?.kind === "former"
      ? known(district, { match: "alias", kind: "later", ...(since !== undefined && { since }) })
      : known(district, { match: "alias", kind: "spelling" });
  const others = names.map(({ name, kind, since: until }) =>
    known(name, { match: "alias", kind, ...(until !== undefined && through === undefined && { since: until }) }),
  );
  const governed = towns.map(({ name, isSeat }) => known(name, { match: "seat", ...(!isSeat && { kind: "city" }) }));
  return [today, ...others, ...governed].filter(({ forms }) => !isSameName(forms, live.forms));
}

const MIN_INITIALS = 3;

/** "Gautam Buddha Nagar" -> "GB Nagar", "GBN"; "Dadra And Nagar Haveli" -> "DNH"; "Lahaul And Spiti" -> "L And S". */
function initialsOf(name: string): readonly string[] {
  const all = wordsOf(name);
  const words = all.filter((word) => word !== "and");
  const [last = ""] = words.slice(-1);
  if (words.some((word) => /\d/.test(word) || word.length < 3) || words.some(isDirection)) return [];
  const letters = words.map((word) => word.charAt(0)).join("");
  if (words.length < MIN_INITIALS) return all.length > words.length ? [[...letters].join(" and ")] : [];
  return all.length > words.length ? [letters] : [`${letters.slice(0, -1)} ${last}`, letters];
}

/** "Uttar Dinajpur" -> "U Dinajpur"; "Bengaluru Urban" -> "Bengaluru U". */
function withLetter(name: string): readonly string[] {
  const words = wordsOf(name);
  const at = words.findIndex((word) => lettersOf(word).length > 0);
  if (at < 0 || words.length < 2) return [];
  return lettersOf(words[at] ?? "").map((letter) =>
    words.map((word, index) => (index === at ? letter : word)).join(" "),
  );
}

/** The names that a compound one is made of: "Lahaul And Spiti", "Khandwa (East Nimar)". */
function partsOf(name: string): readonly string[] {
  const parts = name.split(/\s*[-()]\s*|\s+and\s+/i).filter((part) => part !== "");
  const isName = (part: string): boolean => part.length > 3 && wordsOf(part).some((word) => !isDirection(word));
  return parts.length > 1 && parts.every(isName) ? parts : [];
}

/** Short forms that a name itself leads to. */
const derivedFrom = <T>({ item, name }: Pick<KnownName<T>, "item" | "name">, kind: NameKind): readonly KnownName<T>[] =>
  [...initialsOf(name), ...withLetter(name)].map((text) => ({
    item,
    name: text,
    forms: formsOf(text),
    match: "alias",
    kind,
    isInitials: true,
  }));

/** What a compound name begins with is a name as well: "Balrampur" of "Balrampur-Ramanujganj". */
function firstPartOf<T>({ item, name }: Live<T>): readonly KnownName<T>[] {
  const [first] = partsOf(name);
  return first === undefined ? [] : [{ item, name: first, forms: formsOf(first), match: "alias", kind: "short" }];
}

/** Of a state's districts, in the list's order: their own names, then the others. */
export function knownNames<T>(items: readonly T[], nameOf: (item: T) => string, state: State): readonly KnownName<T>[] {
  const live = items.map((item) => ({ item, name: nameOf(item), forms: formsOf(nameOf(item)) }));
  const recorded = [...targetsOf(entriesOf(state), live)].flatMap(([entry, target]) => fromRecord(entry, target));
  const own = live.map((each): KnownName<T> => ({ ...each, match: "exact" }));
  return [
    ...own,
    ...recorded,
    ...live.flatMap(firstPartOf),
    ...own.flatMap((each) => derivedFrom(each, "short")),
    ...recorded.flatMap((each) => (each.match === "alias" ? derivedFrom(each, each.kind ?? "short") : [])),
  ];
}
