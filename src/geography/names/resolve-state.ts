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

/** "36", "036" -> "lgd 36"; none if the text is not an LGD code. */
const toLgdKeys = (text: string): readonly string[] => (/^\s*\d{1,3}\s*$/.test(text) ? [`lgd ${Number(text)}`] : []);

/** "U.P.", "u p" -> "code UP"; none if the text is not a code. */
function toCodeKeys(text: string): readonly string[] {
  const code = text.replace(/[\s.]+/g, "").toUpperCase();
  return code.length <= MAX_CODE_LENGTH && /^[A-Z]+$/.test(code) ? [`code ${code}`] : [];
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

interface StateName {
  readonly state: State;
  readonly text: string;
  readonly forms: NameForms;
  /** Whether the list has this name; otherwise it comes from the public record. */
  readonly isOwn: boolean;
}

interface StateIndex {
  readonly names: readonly StateName[];
  /** States by code and by name. The lower the rank, the more certain the state. */
  readonly byKey: ReadonlyMap<string, readonly { readonly state: State; readonly rank: number }[]>;
}

function createIndex(states: readonly State[]): StateIndex {
  const names: StateName[] = [];
  const keyed: [string, { readonly state: State; readonly rank: number }][] = [];
  const addKeys = (state: State, rank: number, ...keys: readonly string[]) =>
    keyed.push(...keys.map((key): (typeof keyed)[number] => [key, { state, rank }]));
  function addName(state: State, name: string, isOwn: boolean): void {
    const text = stripStateWords(name);
    const forms = toNameForms(text);
    names.push({ state, text, forms, isOwn });
    addKeys(state, isOwn ? 2 : 3, ...forms.keys);
  }
  for (const state of states) {
    addName(state, state.name, true);
    addKeys(state, 0, `code ${state.code.toUpperCase()}`, ...toLgdKeys(state.lgdCode ?? ""));
    const recorded = findRecordedState(state);
    if (recorded === undefined) continue;
    // The list may contain a state under a former name.
    for (const { name, isCode } of [{ name: recorded.name, isCode: false }, ...recorded.otherNames]) {
      addKeys(state, 1, ...toCodeKeys(name));
      if (!isCode) addName(state, name, false);
    }
  }
  return { names, byKey: groupByKey(keyed) };
}

const indexes = new WeakMap<readonly State[], StateIndex>();

function getIndex(states: readonly State[]): StateIndex {
  const index = indexes.get(states) ?? createIndex(states);
  indexes.set(states, index);
  return index;
}

function findExactStates(text: string, states: readonly State[]): readonly State[] {
  const [lgdKey] = toLgdKeys(text);
  const [codeKey = `code ${text.trim().toUpperCase()}`] = toCodeKeys(text);
  const keys = lgdKey === undefined ? [codeKey, ...toNameForms(stripStateWords(text)).keys] : [lgdKey];
  const found = keys.flatMap((key) => getIndex(states).byKey.get(key) ?? []);
  const bestRank = Math.min(...found.map(({ rank }) => rank));
  return [...new Set(found.flatMap(({ state, rank }) => (rank === bestRank ? [state] : [])))];
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

/** Throws Failure: `not_found` if the text matches no state, `invalid_arguments` if it matches several. */
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
      next: `Use one of these codes: ${states.map(({ code }) => code).join(", ")}. list_states has their names.`,
    });
  if (others.length > 0)
    throw invalidArguments(
      `${quotedText} may mean several states: ${formatStateList(found)}.`,
      [],
      "Use the code of the one meant.",
    );
  return state;
}

/** Without duplicates, in the requested order; all states if no text is given. */
export function resolveStates(texts: readonly string[] | undefined, states: readonly State[]): readonly State[] {
  if (texts === undefined || texts.length === 0) return states;
  return [...new Set(texts.map((text) => resolveState(text, states)))];
}
