// Resolves codes and names of states: a state's own code and name are those of the live list; former codes and other names come
// from the public record. Every argument, name and resource that means a state is resolved here.
import type { State } from "../../contract/playground.ts";
import { Failure, invalidArguments } from "../../core/failure.ts";
import { formatToken, quote } from "../../core/untrusted-text.ts";
import { grouped } from "../grouped.ts";
import { fold, formsOf, isPartOf, isSameName, type NameForms, nameLikeness } from "./fold.ts";
import { type RecordedState, recordedStates } from "./record/tables.ts";

/** A likeness that may be followed without asking. */
const MIN_SIMILARITY = 0.85;
const MIN_BEGINNING = 3;
const MAX_NAME = 80;
const MAX_CODE = 3;

/** "U.P.", "u p" -> "code UP"; undefined if the text is not a code. */
function codeKey(text: string): string | undefined {
  const code = text
    .trim()
    .replace(/[\s.]+/g, "")
    .toUpperCase();
  return code.length <= MAX_CODE && /^[A-Z]+$/.test(code) ? `code ${code}` : undefined;
}

/** Without the words that people write around a state's name. */
const withoutRank = (text: string): string =>
  fold(text)
    .replace(/(?<=\S) india$/, "")
    .replace(/^(the )?((state|ut|union territory)( of)? )?(?=\S)/, "")
    .replace(/(?<=\S) (state|ut|union territory|rajya)$/, "");

/** The state of the record that this one of the list is, whatever the list calls it. */
export function recordedAs({ name }: State): RecordedState | undefined {
  const forms = formsOf(name);
  return (
    recordedStates().find((state) => isSameName(state.forms, forms)) ??
    recordedStates().find(({ others }) => others.some((other) => !other.isCode && isSameName(other.forms, forms))) ??
    recordedStates().find((state) => nameLikeness(state.forms, forms) >= MIN_SIMILARITY)
  );
}

/** A list of states by everything that they are called. */
interface StateIndex {
  /** By keys of codes and names, the surest ways first: own codes, other codes, own names, other names. */
  readonly ways: readonly ReadonlyMap<string | undefined, readonly State[]>[];
  readonly names: readonly {
    readonly state: State;
    readonly text: string;
    readonly forms: NameForms;
    readonly isOwn: boolean;
  }[];
}

function makeIndex(states: readonly State[]): StateIndex {
  const other = states.flatMap((state) => {
    const recorded = recordedAs(state);
    // A list may have a state by a former name.
    return recorded === undefined
      ? []
      : [{ name: recorded.name, isCode: false }, ...recorded.others].map((each) => ({ ...each, state }));
  });
  const names = [
    ...states.map((state) => ({ name: state.name, state, isOwn: true })),
    ...other.filter(({ isCode }) => !isCode).map((each) => ({ ...each, isOwn: false })),
  ].map(({ name, state, isOwn }) => {
    const text = withoutRank(name);
    return { state, text, forms: formsOf(text), isOwn };
  });
  const keysOf = (isOwn: boolean) =>
    names.flatMap((name) => (name.isOwn === isOwn ? name.forms.keys.map((key) => [key, name.state] as const) : []));
  const ways: readonly (readonly (readonly [string | undefined, State])[])[] = [
    states.map((state) => [`code ${state.code.toUpperCase()}`, state]),
    other.map(({ name, state }) => [codeKey(name), state]),
    keysOf(true),
    keysOf(false),
  ];
  return { ways: ways.map(grouped), names };
}

/** One for each reading of the list. */
const indexes = new WeakMap<readonly State[], StateIndex>();

function indexOf(states: readonly State[]): StateIndex {
  const known = indexes.get(states) ?? makeIndex(states);
  indexes.set(states, known);
  return known;
}

/** The states that bear this code or name. */
function bearing(text: string, states: readonly State[]): readonly State[] {
  const keys = [codeKey(text) ?? `code ${text.trim().toUpperCase()}`, ...formsOf(withoutRank(text)).keys];
  for (const way of indexOf(states).ways) {
    const found = keys.flatMap((key) => way.get(key) ?? []);
    if (found.length > 0) return [...new Set(found)];
  }
  return [];
}

/** The states that bear it; else those with a name that is very like it. */
function meant(text: string, states: readonly State[]): readonly State[] {
  const found = bearing(text, states);
  if (found.length > 0) return found;
  const queryForms = formsOf(withoutRank(text));
  // "Himachal" begins a state's name; "Nagar" or "Pradesh" within one says nothing.
  const isBeginning = ({ words: [first] }: NameForms): boolean => first?.text === queryForms.words[0]?.text;
  const isLike = (forms: NameForms): boolean => !isPartOf(queryForms, forms) || isBeginning(forms);
  const like = indexOf(states).names.filter(
    ({ forms }) => isLike(forms) && nameLikeness(queryForms, forms) >= MIN_SIMILARITY,
  );
  const own = like.filter(({ isOwn }) => isOwn);
  return [...new Set((own.length > 0 ? own : like).map(({ state }) => state))];
}

/** The states whose name begins so: "Guj". */
function begun(text: string, states: readonly State[]): readonly State[] {
  const beginning = fold(text);
  if (beginning.length < MIN_BEGINNING) return [];
  return indexOf(states).names.flatMap(({ state, text, isOwn }) =>
    isOwn && text.startsWith(beginning) ? [state] : [],
  );
}

const onlyOf = ([state, ...others]: readonly State[]): State | undefined => (others.length === 0 ? state : undefined);

/** The one state that bears this code or name; undefined if none does, or several do. */
export const exactState = (text: string, states: readonly State[]): State | undefined => onlyOf(bearing(text, states));

/** The one state that is meant, a typing error allowed. */
export const stateLike = (text: string, states: readonly State[]): State | undefined => onlyOf(meant(text, states));

/** The one state that is meant, a typing error or its beginning allowed. */
export const stateBegun = (text: string, states: readonly State[]): State | undefined =>
  stateLike(text, states) ?? onlyOf(begun(text, states));

/** Everything that a state is called, in one text. */
export function allNamesOf(state: State): string {
  const recorded = recordedAs(state);
  return [...new Set([state.name, ...(recorded?.others ?? []).flatMap(({ name }) => [recorded?.name, name])])].join(
    " ",
  );
}

const listed = (states: readonly State[]): string =>
  states.map(({ code, name }) => `${code} ${formatToken(name, MAX_NAME)}`).join(", ");

/** Throws Failure if the text means no state, or one of several. */
export function resolveState(text: string, states: readonly State[]): State {
  const like = meant(text, states);
  const beginning = onlyOf(begun(text, states));
  const found = like.length > 0 || beginning === undefined ? like : [beginning];
  const [state, ...others] = found;
  const quotedText = quote(text, MAX_NAME);
  if (state === undefined)
    throw new Failure({
      kind: "not_found",
      message: `No such state: ${quotedText} matches none of the service's ${states.length} states.`,
      retryable: false,
      sideEffect: "none",
      next: `Use one of these codes: ${states.map(({ code }) => code).join(", ")}; list_states has their names.`,
    });
  if (others.length > 0)
    throw invalidArguments(
      `${quotedText} may mean several states: ${listed(found)}.`,
      [],
      "Use the code of the one meant.",
    );
  return state;
}

/** Each once, in the order asked for; all of them if none was asked for. */
export function resolveStates(texts: readonly string[] | undefined, states: readonly State[]): readonly State[] {
  if (texts === undefined || texts.length === 0) return states;
  return [...new Set(texts.map((text) => resolveState(text, states)))];
}
