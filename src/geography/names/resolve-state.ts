// Resolves codes and names of states. A state's own code and name come from the live list; former codes and other names come from
// the public record. Every argument, name and resource that refers to a state is resolved here.

import type { State } from "../../contract/playground.ts";
import { groupByKey } from "../../core/counts.ts";
import { Failure, invalidArguments } from "../../core/failure.ts";
import { join, json, type Part, quoted, raw, say, type Text } from "../../core/text.ts";
import { formatToken } from "../../core/untrusted-text.ts";
import { fold, isPartOf, isSameName, type NameForms, nameSimilarity, toNameForms } from "./name-forms.ts";
import { loadRecordedStates, type RecordedState } from "./record/tables.ts";
import { separateStateParts } from "./written-forms.ts";

/** Minimum similarity at which a state is accepted without a question: one letter of "Kerala". */
const MIN_SIMILARITY = 0.83;
const MIN_PREFIX_LENGTH = 3;
/** Maximum length of a name in a sentence, in characters. */
export const MAX_DISPLAY_LENGTH = 80;
const MAX_CODE_LENGTH = 3;

export const formatName = (name: string): Part => raw(formatToken(name, MAX_DISPLAY_LENGTH));

/** "36", "036" -> "lgd 36"; none if the text is not an LGD code. */
const toLgdKeys = (text: string): readonly string[] => (/^\s*\d{1,3}\s*$/.test(text) ? [`lgd ${Number(text)}`] : []);

/** "U.P.", "u p", "IN-UP" (ISO 3166-2) -> "code UP"; none if the text is not a code. */
function toCodeKeys(text: string): readonly string[] {
  const code = text
    .replace(/^\s*IN[\s-](?=\s*\p{L})/iu, "")
    .replace(/[\s.]+/g, "")
    .toUpperCase();
  return code.length <= MAX_CODE_LENGTH && /^[A-Z]+$/.test(code) ? [`code ${code}`] : [];
}

/** Removes the words that people write around a state's name. */
const stripStateWords = (text: string): string =>
  fold(text)
    .replace(/(?<=\S) india$/, "")
    .replace(/^(the )?((state|ut|union territory|nct|government|govt)( of)? )?(?=\S)/, "")
    .replace(/(?<=\S) (state|ut|union territory|rajya|nct)$/, "");

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

const UNION_TERRITORIES = new Set(["AN", "CH", "DH", "DL", "JK", "LA", "LD", "PY"]);

/** By the codes of ISO 3166-2, because the API does not distinguish them. */
export const kindOfState = (state: State): "state" | "union territory" =>
  findRecordedState(state)?.otherNames.some(({ name, isCode }) => isCode && UNION_TERRITORIES.has(name))
    ? "union territory"
    : "state";

interface StateName {
  readonly state: State;
  readonly text: string;
  readonly forms: NameForms;
  /** Whether the list has this name; otherwise it comes from the public record. */
  readonly isOwn: boolean;
}

interface StateIndex {
  readonly names: readonly StateName[];
  /** States by code and by name. The lower the rank, the more certain the state; even ranks are the list's own codes and names. */
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
      addKeys(state, 1, ...toCodeKeys(name), ...(isCode ? toLgdKeys(name) : []));
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

function toKeys(text: string): readonly string[] {
  const [lgdKey] = toLgdKeys(text);
  const [codeKey = `code ${text.trim().toUpperCase()}`] = toCodeKeys(text);
  return lgdKey === undefined ? [codeKey, ...toNameForms(stripStateWords(text)).keys] : [lgdKey];
}

const findByKeys = (text: string, states: readonly State[]) =>
  toKeys(text).flatMap((key) => getIndex(states).byKey.get(key) ?? []);

function findExactStates(text: string, states: readonly State[]): readonly State[] {
  const found = findByKeys(text, states);
  const bestRank = Math.min(...found.map(({ rank }) => rank));
  return [...new Set(found.flatMap(({ state, rank }) => (rank === bestRank ? [state] : [])))];
}

/** "Bihar (BR)", "10 - Bihar", "Odisha/Orissa": the states that all parts of the text mean. */
function findStatesByParts(text: string, states: readonly State[]): readonly State[] {
  const parts = separateStateParts(text);
  const [first = [], ...others] =
    parts.length > 1 || parts[0] !== text ? parts.map((part) => findSimilarStates(part, states)) : [];
  return first.filter((state) => others.every((each) => each.includes(state)));
}

/** "North-East" is a region, not the beginning of "North-East Frontier Agency". */
const REGION = /^\W*(?:(?:north|south|east|west)(?:ern)?\W*|central\W*|india\W*)+$/i;

/** Finds the states that have this code or name; otherwise those that all parts of the text mean, or with a very similar name. */
function findSimilarStates(text: string, states: readonly State[]): readonly State[] {
  const exact = findExactStates(text, states);
  const found = exact.length > 0 ? exact : findStatesByParts(text, states);
  if (found.length > 0 || REGION.test(text)) return found;
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
  if (prefix.length < MIN_PREFIX_LENGTH || REGION.test(text)) return [];
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

const formatStateList = (states: readonly State[]): Text =>
  join(
    states.map(({ code, name }) => say`${code} ${formatName(name)}`),
    ", ",
  );

/** Throws Failure: `not_found` if the text matches no state, `invalid_arguments` if it matches several. */
export function resolveState(text: string, states: readonly State[]): State {
  const similar = findSimilarStates(text, states);
  const prefixMatch = getOnly(findStatesByPrefix(text, states));
  const found = similar.length > 0 || prefixMatch === undefined ? similar : [prefixMatch];
  const [state, ...others] = found;
  const quotedText = quoted(text, MAX_DISPLAY_LENGTH);
  const parts = separateStateParts(text).map((part) => getOnly(findExactStates(part, states))?.code);
  const isList = parts.length > 1 && parts.every((part) => part !== undefined);
  if (state === undefined)
    throw new Failure({
      kind: "not_found",
      message: say`No such state: ${quotedText} matches none of the ${states.length} states and union territories.`,
      retryable: false,
      sideEffect: "none",
      next: isList
        ? say`Use a list: ${json(parts)}, or one of them.`
        : say`${REGION.test(text) && say`Name the states of the region. `}Use one of these codes: ${join(
            states.map(({ code }) => code),
            ", ",
          )}. list_states has their names.`,
    });
  if (others.length > 0)
    throw invalidArguments(
      say`${quotedText} may mean several: ${formatStateList(found)}.`,
      [],
      say`Use the code of the one meant.`,
    );
  return state;
}

/** ` "Madras" was read as Tamil Nadu (TN).`; empty if the text contains the state's own code or name. */
export function describeReading(text: string, state: State, states: readonly State[]): Text {
  const isOwn = [text, ...separateStateParts(text)].some((part) =>
    findByKeys(part, states).some((found) => found.state === state && found.rank % 2 === 0),
  );
  return isOwn ? [] : say` ${quoted(text, MAX_DISPLAY_LENGTH)} was read as ${formatName(state.name)} (${state.code}).`;
}

/** "AP, TG" -> "AP" and "TG", unless the whole text names a state: "Laccadive, Minicoy and Amindivi Islands". */
export const separateStates = (texts: readonly string[], states: readonly State[]): readonly string[] =>
  texts.flatMap((text) => {
    const parts = text.split(",");
    const isList = parts.length > 1 && parts.every((part) => exactState(part, states));
    return isList && fuzzyState(text, states) === undefined ? parts : [text];
  });

/** Without duplicates, in the requested order; all states if no text is given. */
export function resolveStates(texts: readonly string[] | undefined, states: readonly State[]): readonly State[] {
  if (texts === undefined || texts.length === 0) return states;
  return [...new Set(separateStates(texts, states).map((text) => resolveState(text, states)))];
}
