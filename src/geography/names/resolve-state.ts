// Resolves codes and names of states. A state's own code and name come from the live list; former codes and other names come from
// the public record. Every argument, name and resource that refers to a state is resolved here.
import type { State } from "../../contract/playground.ts";
import { Failure, invalidArguments } from "../../core/failure.ts";
import { formatToken, quote } from "../../core/untrusted-text.ts";
import { groupByKey } from "../group-by-key.ts";
import { fold, isPartOf, isSameName, type NameForms, nameSimilarity, toNameForms } from "./name-forms.ts";
import { loadRecordedStates, type RecordedState } from "./record/tables.ts";

/** Minimum similarity at which a state is accepted without a question. */
const MIN_SIMILARITY = 0.85;
const MIN_PREFIX_LENGTH = 3;
const MAX_DISPLAY_LENGTH = 80;
const MAX_CODE_LENGTH = 3;

/** "36", "036" -> "lgd 36"; undefined if the text is not an LGD code. */
const toLgdKey = (text: string): string | undefined =>
  /^\s*\d{1,3}\s*$/.test(text) ? `lgd ${Number(text)}` : undefined;

/** "U.P.", "u p" -> "code UP"; undefined if the text is not a code. */
function toCodeKey(text: string): string | undefined {
  const code = text
    .trim()
    .replace(/[\s.]+/g, "")
    .toUpperCase();
  return code.length <= MAX_CODE_LENGTH && /^[A-Z]+$/.test(code) ? `code ${code}` : undefined;
}

/** Removes the words that people write around a state's name. */
const stripStateWords = (text: string): string =>
  fold(text)
    .replace(/(?<=\S) india$/, "")
    .replace(/^(the )?((state|ut|union territory)( of)? )?(?=\S)/, "")
    .replace(/(?<=\S) (state|ut|union territory|rajya)$/, "");

/** Finds the entry of the public record for a state, whichever of its names the list uses. */
export function findRecordedState({ name }: State): RecordedState | undefined {
  const forms = toNameForms(name);
  return (
    loadRecordedStates().find((state) => isSameName(state.forms, forms)) ??
    loadRecordedStates().find(({ otherNames }) =>
      otherNames.some((other) => !other.isCode && isSameName(other.forms, forms)),
    ) ??
    loadRecordedStates().find((state) => nameSimilarity(state.forms, forms) >= MIN_SIMILARITY)
  );
}

/** A list of states, indexed by all their codes and names. */
interface StateIndex {
  /** States by code and name, the most certain lookup first: own codes, LGD codes, other codes, own names, other names. */
  readonly lookups: readonly ReadonlyMap<string | undefined, readonly State[]>[];
  readonly names: readonly {
    readonly state: State;
    readonly text: string;
    readonly forms: NameForms;
    readonly isOwn: boolean;
  }[];
}

function createIndex(states: readonly State[]): StateIndex {
  const otherNames = states.flatMap((state) => {
    const recorded = findRecordedState(state);
    // The list may contain a state under a former name.
    return recorded === undefined
      ? []
      : [{ name: recorded.name, isCode: false }, ...recorded.otherNames].map((each) => ({ ...each, state }));
  });
  const names = [
    ...states.map((state) => ({ name: state.name, state, isOwn: true })),
    ...otherNames.filter(({ isCode }) => !isCode).map((each) => ({ ...each, isOwn: false })),
  ].map(({ name, state, isOwn }) => {
    const text = stripStateWords(name);
    return { state, text, forms: toNameForms(text), isOwn };
  });
  const toNameKeys = (isOwn: boolean) =>
    names.flatMap((name) => (name.isOwn === isOwn ? name.forms.keys.map((key) => [key, name.state] as const) : []));
  const lookups: readonly (readonly (readonly [string | undefined, State])[])[] = [
    states.map((state) => [`code ${state.code.toUpperCase()}`, state]),
    states.map((state) => [toLgdKey(state.lgdCode ?? ""), state]),
    otherNames.map(({ name, state }) => [toCodeKey(name), state]),
    toNameKeys(true),
    toNameKeys(false),
  ];
  return { lookups: lookups.map(groupByKey), names };
}

const indexes = new WeakMap<readonly State[], StateIndex>();

function getIndex(states: readonly State[]): StateIndex {
  const index = indexes.get(states) ?? createIndex(states);
  indexes.set(states, index);
  return index;
}

function findExactStates(text: string, states: readonly State[]): readonly State[] {
  const lgdKey = toLgdKey(text);
  if (lgdKey !== undefined) return getIndex(states).lookups.flatMap((lookup) => lookup.get(lgdKey) ?? []);
  const keys = [toCodeKey(text) ?? `code ${text.trim().toUpperCase()}`, ...toNameForms(stripStateWords(text)).keys];
  for (const lookup of getIndex(states).lookups) {
    const found = keys.flatMap((key) => lookup.get(key) ?? []);
    if (found.length > 0) return [...new Set(found)];
  }
  return [];
}

/** Finds the states that have this code or name; otherwise those with a very similar name. */
function findSimilarStates(text: string, states: readonly State[]): readonly State[] {
  const found = findExactStates(text, states);
  if (found.length > 0) return found;
  const queryForms = toNameForms(stripStateWords(text));
  // "Himachal" is the beginning of a state's name, so it counts; "Nagar" or "Pradesh" in another position does not.
  const beginsName = ({ words: [first] }: NameForms): boolean => first?.text === queryForms.words[0]?.text;
  const isComparable = (forms: NameForms): boolean => !isPartOf(queryForms, forms) || beginsName(forms);
  const similar = getIndex(states).names.filter(
    ({ forms }) => isComparable(forms) && nameSimilarity(queryForms, forms) >= MIN_SIMILARITY,
  );
  const ownMatches = similar.filter(({ isOwn }) => isOwn);
  return [...new Set((ownMatches.length > 0 ? ownMatches : similar).map(({ state }) => state))];
}

/** Finds the states whose name begins with this text, for example "Guj". */
function findStatesByPrefix(text: string, states: readonly State[]): readonly State[] {
  const prefix = fold(text);
  if (prefix.length < MIN_PREFIX_LENGTH) return [];
  return getIndex(states).names.flatMap(({ state, text, isOwn }) => (isOwn && text.startsWith(prefix) ? [state] : []));
}

const getOnly = ([state, ...others]: readonly State[]): State | undefined => (others.length === 0 ? state : undefined);

/** Returns the only state that has this code or name; undefined if none or several have it. */
export const exactState = (text: string, states: readonly State[]): State | undefined =>
  getOnly(findExactStates(text, states));

/** Returns the only state that matches, typing errors allowed; undefined if none or several match. */
export const fuzzyState = (text: string, states: readonly State[]): State | undefined =>
  getOnly(findSimilarStates(text, states));

/** Returns the only state that matches, typing errors or a prefix allowed; undefined if none or several match. */
export const prefixState = (text: string, states: readonly State[]): State | undefined =>
  fuzzyState(text, states) ?? getOnly(findStatesByPrefix(text, states));

/** Joins all names of a state, and its codes in the public record, in one text. */
export function joinAllNames(state: State): string {
  const recorded = findRecordedState(state);
  return [...new Set([state.name, ...(recorded?.otherNames ?? []).flatMap(({ name }) => [recorded?.name, name])])].join(
    " ",
  );
}

const formatStateList = (states: readonly State[]): string =>
  states.map(({ code, name }) => `${code} ${formatToken(name, MAX_DISPLAY_LENGTH)}`).join(", ");

/**
 * Resolves a code or name to one state. Throws Failure: `not_found` if it matches no state, `invalid_arguments` if it matches
 * several.
 */
export function resolveState(text: string, states: readonly State[]): State {
  const similar = findSimilarStates(text, states);
  const prefixMatch = getOnly(findStatesByPrefix(text, states));
  const found = similar.length > 0 || prefixMatch === undefined ? similar : [prefixMatch];
  const [state, ...others] = found;
  const quotedText = quote(text, MAX_DISPLAY_LENGTH);
  if (state === undefined)
    throw new Failure({
      kind: "not_found",
      message: `No such state: ${quotedText} matches none of the ${states.length} states.`,
      retryable: false,
      sideEffect: "none",
      next: `Use one of these codes: ${states.map(({ code }) => code).join(", ")}; list_states has their names.`,
    });
  if (others.length > 0)
    throw invalidArguments(
      `${quotedText} may mean several states: ${formatStateList(found)}.`,
      [],
      "Use the code of the one meant.",
    );
  return state;
}

/**
 * Resolves each text like `resolveState`, without duplicates and in the requested order. Returns all states if no text is given.
 */
export function resolveStates(texts: readonly string[] | undefined, states: readonly State[]): readonly State[] {
  if (texts === undefined || texts.length === 0) return states;
  return [...new Set(texts.map((text) => resolveState(text, states)))];
}
