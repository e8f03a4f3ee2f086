// Which state of the live list a code or a name means: nothing is known of codes but what the service lists, and of other
// names and former codes what the record has. Every argument, name and resource that says a state is read here.
import { BoundedMap } from "../../bounded-map.ts";
import type { State } from "../../contract/playground.ts";
import { Failure, invalidArguments } from "../../failure.ts";
import { quote, word } from "../../outside.ts";
import { fold } from "./fold.ts";
import { formsOf, isPartOf, isSameName, type NameForms, nameLikeness } from "./likeness.ts";
import { otherStateNames } from "./record/tables.ts";

/** A likeness that may be followed without asking. */
const SURE = 0.85;
const MAX_NAME = 80;
const MAX_CODE = 3;

/** "U.P.", "u p" -> "UP"; undefined of what is no code. */
function asCode(text: string): string | undefined {
  const code = text
    .trim()
    .replace(/[\s.]+/g, "")
    .toUpperCase();
  return code.length <= MAX_CODE && /^[A-Z]+$/.test(code) ? code : undefined;
}

/** What people say around a state's name. */
const withoutRank = (text: string): string =>
  fold(text)
    .replace(/(?<=\S) india$/, "")
    .replace(/^(the )?(state|ut|union territory)( of)? (?=\S)/, "")
    .replace(/^the (?=\S)/, "")
    .replace(/(?<=\S) (state|ut|union territory|rajya)$/, "");

const isNamed = (name: string, text: string): boolean => isSameName(formsOf(name), formsOf(text));

/** Whether a state of the record, by its name of today, is this one of the list, whatever the list calls it. */
function isRecorded(today: string, { name }: State): boolean {
  if (isNamed(today, name)) return true;
  const others = otherStateNames().filter(({ state, isCode }) => state === today && !isCode);
  return others.some(({ other }) => isNamed(other, name)) || nameLikeness(formsOf(today), formsOf(name)) >= SURE;
}

const MAX_KEPT = 8192;
const recorded = new BoundedMap<string, boolean>(MAX_KEPT);

export function isStateOfRecord(today: string, state: State): boolean {
  const key = `${today}\n${state.name}`;
  const known = recorded.get(key);
  if (known !== undefined) return known;
  const is = isRecorded(today, state);
  recorded.set(key, is);
  return is;
}

/** A list of states by all that they are called. */
interface StateIndex {
  readonly byCode: ReadonlyMap<string, readonly State[]>;
  readonly byOtherCode: ReadonlyMap<string, readonly State[]>;
  readonly byKey: ReadonlyMap<string, readonly State[]>;
  readonly byOtherKey: ReadonlyMap<string, readonly State[]>;
  readonly names: readonly { readonly state: State; readonly forms: NameForms; readonly isOther: boolean }[];
}

function gathered(entries: readonly (readonly [string, State])[]): ReadonlyMap<string, readonly State[]> {
  const groups = new Map<string, State[]>();
  for (const [key, state] of entries) {
    const group = groups.get(key) ?? [];
    groups.set(key, group);
    if (!group.includes(state)) group.push(state);
  }
  return groups;
}

function makeIndex(states: readonly State[]): StateIndex {
  const rows = otherStateNames();
  // A list may have a state by its name before.
  const today = [...new Set(rows.map(({ state }) => state))].map((state) => ({ state, other: state, isCode: false }));
  const others = [...rows, ...today].flatMap((row) =>
    states.filter((state) => isStateOfRecord(row.state, state)).map((state) => ({ ...row, state })),
  );
  const otherNames = others.filter(({ isCode }) => !isCode);
  const formsIn = (name: string): NameForms => formsOf(withoutRank(name));
  const keysOf = (state: State, name: string) => formsIn(name).keys.map((key) => [key, state] as const);
  const codes = others.flatMap(({ other, state }) => {
    const code = asCode(other);
    return code === undefined ? [] : [[code, state] as const];
  });
  return {
    byCode: gathered(states.map((state) => [state.code.toUpperCase(), state])),
    byOtherCode: gathered(codes),
    byKey: gathered(states.flatMap((state) => keysOf(state, state.name))),
    byOtherKey: gathered(otherNames.flatMap(({ other, state }) => keysOf(state, other))),
    names: [
      ...states.map((state) => ({ state, forms: formsIn(state.name), isOther: false })),
      ...otherNames.map(({ other, state }) => ({ state, forms: formsIn(other), isOther: true })),
    ],
  };
}

const indexes = new WeakMap<readonly State[], StateIndex>();

function indexOf(states: readonly State[]): StateIndex {
  const known = indexes.get(states) ?? makeIndex(states);
  indexes.set(states, known);
  return known;
}

/** By a code or a name that it bears for certain: today's first, then the others. */
function certain(text: string, states: readonly State[]): readonly State[] {
  const { byCode, byOtherCode, byKey, byOtherKey } = indexOf(states);
  const code = asCode(text) ?? text.trim().toUpperCase();
  const { keys } = formsOf(withoutRank(text));
  const named = (by: ReadonlyMap<string, readonly State[]>) => [...new Set(keys.flatMap((key) => by.get(key) ?? []))];
  const ways = [
    () => byCode.get(code) ?? [],
    () => byOtherCode.get(code) ?? [],
    () => named(byKey),
    () => named(byOtherKey),
  ];
  for (const way of ways) {
    const found = way();
    if (found.length > 0) return found;
  }
  return [];
}

/** All that a state is called, in one text. */
export function allNamesOf(state: State): string {
  const others = otherStateNames().filter((row) => isStateOfRecord(row.state, state));
  return [...new Set([state.name, ...others.flatMap((row) => [row.state, row.other])])].join(" ");
}

/** The one state that this code or name means for certain; undefined where none does, or several do. */
export function stateMeant(text: string, states: readonly State[]): State | undefined {
  const [state, ...others] = certain(text, states);
  return others.length === 0 ? state : undefined;
}

/** Those that it means for certain, else those whose name, or another of theirs, is very like it. */
function meant(text: string, states: readonly State[]): readonly State[] {
  const found = certain(text, states);
  if (found.length > 0) return found;
  const asked = formsOf(withoutRank(text));
  // "Himachal" begins a state's name; "Nagar" or "Pradesh" within one says nothing.
  const isBeginning = ({ words: [first] }: NameForms): boolean => first?.text === asked.words[0]?.text;
  const isLike = (forms: NameForms): boolean => !isPartOf(asked, forms) || isBeginning(forms);
  const like = indexOf(states).names.filter(({ forms }) => isLike(forms) && nameLikeness(asked, forms) >= SURE);
  const own = like.filter(({ isOther }) => !isOther);
  return [...new Set((own.length > 0 ? own : like).map(({ state }) => state))];
}

/** The one state that it means, a slip of the keyboard allowed. */
export function stateLike(text: string, states: readonly State[]): State | undefined {
  const [state, ...others] = meant(text, states);
  return others.length === 0 ? state : undefined;
}

const MIN_BEGINNING = 3;

/** The one state whose name begins so: "Guj". */
export function stateBegun(text: string, states: readonly State[]): State | undefined {
  const beginning = fold(text);
  if (beginning.length < MIN_BEGINNING) return undefined;
  const [state, ...others] = states.filter(({ name }) => withoutRank(name).startsWith(beginning));
  return others.length === 0 ? state : undefined;
}

const listed = (states: readonly State[]): string =>
  states.map(({ code, name }) => `${code} ${word(name, MAX_NAME)}`).join(", ");

/** Throws Failure when it means none, or one of several. */
export function resolveState(text: string, states: readonly State[]): State {
  const like = meant(text, states);
  const begun = like.length === 0 ? stateBegun(text, states) : undefined;
  const found = begun === undefined ? like : [begun];
  const [state, ...others] = found;
  const asked = quote(text, MAX_NAME);
  if (state === undefined)
    throw new Failure({
      kind: "not_found",
      message: `No such state: ${asked} matches none of the service's ${states.length} states.`,
      retryable: false,
      sideEffect: "none",
      next: `Use one of these codes: ${states.map(({ code }) => code).join(", ")}; list_states has their names.`,
    });
  if (others.length > 0)
    throw invalidArguments(`${asked} may mean several states: ${listed(found)}.`, [], "Use the code of the one meant.");
  return state;
}

/** Each once, in the order asked for; all of them when nothing was asked for. */
export function resolveStates(texts: readonly string[] | undefined, states: readonly State[]): readonly State[] {
  if (texts === undefined || texts.length === 0) return states;
  return [...new Set(texts.map((text) => resolveState(text, states)))];
}
