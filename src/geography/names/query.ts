// Parses a query as people type it: removes words for district and the country, and finds the state that it names.
import type { State } from "../../contract/playground.ts";
import { DIRECTION_LETTERS, fold, isDirection, toSound } from "./name-forms.ts";
import { exactState, fuzzyState, prefixState } from "./resolve-state.ts";

export interface NameInState {
  readonly name: string;
  readonly state: State;
  /** Whether the state's words are its code or a whole name. */
  readonly isExact: boolean;
}

export interface ParsedQuery {
  /** The query without words for district and the country; the query itself if it has no such word. */
  readonly name: string;
  readonly state?: State;
  /** Interpretations of the query as a name and a state, the most likely first. */
  readonly nameStatePairs: readonly NameInState[];
  /** Interpretations of the query as two names of one district: "Barwani (Badwani)". */
  readonly namePairs: readonly (readonly [string, string])[];
}

interface Token {
  readonly text: string;
  readonly folded: string;
  /** Text between the previous token and this one: removed words, blanks, punctuation. */
  readonly separator: string;
  /** Whether punctuation such as a comma, a bracket or a dash precedes the token. */
  readonly isDelimited: boolean;
}

const toWordSet = (words: string): ReadonlySet<string> => new Set(words.split(" "));

/** Words for "district" in the languages of India, in Latin letters, by sound. */
const DISTRICT_WORDS = new Set(
  [
    ...toWordSet("district districts districte dist distt dt zila zilla zillah zela jila jilla jilha jillo jille jela"),
    ...toWordSet("janpad janapad janapada mavattam mavatam mavattom maavattam zilha jilaa"),
  ].map(toSound),
);
const COUNTRY_WORDS = toWordSet("india bharat");
/** Words for a district's offices. They are not part of the name if the query contains a word for district. */
const OFFICE_WORDS = toWordSet("parishad panchayat revenue administration collectorate headquarters hq");
const JOINING_WORDS = toWordSet("of in the state city town");
const ALIAS_WORDS = toWordSet("alias aka or formerly erstwhile urf now previously");
/** The longest name of a state has ten words. */
const MAX_STATE_WORDS = 10;
const MIN_FUZZY_LETTERS = 5;

const WORD = /(?:[\p{L}\p{M}\p{N}.'’&]|\u200c|\u200d)+/gu;
const DELIMITER = /[,;:/()[\]{}|–—-]/u;

function tokenize(text: string): readonly Token[] {
  let end = 0;
  return [...text.matchAll(WORD)].map((match) => {
    const [word] = match;
    const separator = text.slice(end, match.index);
    end = match.index + word.length;
    return { text: word, folded: fold(word), separator, isDelimited: DELIMITER.test(separator) };
  });
}

const joinTokens = (tokens: readonly Token[]): string =>
  tokens
    .map(({ text, separator }, index) => `${index === 0 ? "" : separator}${text}`)
    .join("")
    .replace(/^[\s.]+|\s+$/g, "");

/** Removes words at both ends that only join a name to its state. */
function trimJoiningWords(tokens: readonly Token[]): readonly Token[] {
  const isName = ({ folded }: Token): boolean => !JOINING_WORDS.has(folded);
  const first = tokens.findIndex(isName);
  return first < 0 ? [] : tokens.slice(first, tokens.findLastIndex(isName) + 1);
}

/** Removes the words for district and the country. Returns all tokens if no others remain. */
function removeNoise(all: readonly Token[]): readonly Token[] {
  const isDistrictWord = ({ folded }: Token): boolean => DISTRICT_WORDS.has(toSound(folded));
  const isDistrict = all.some(isDistrictWord);
  const isNoise = (token: Token): boolean =>
    isDistrictWord(token) || COUNTRY_WORDS.has(token.folded) || (isDistrict && OFFICE_WORDS.has(token.folded));
  // A blank replaces the removed words.
  const kept = all
    .map((token, index) => (all.slice(index - 1, index).some(isNoise) ? { ...token, separator: " " } : token))
    .filter((token) => !isNoise(token));
  return kept.length === 0 ? all : trimJoiningWords(kept);
}

function matchState(name: string, states: readonly State[], isDelimited: boolean): State | undefined {
  // A number in a name is not the LGD code of a state.
  if (!/\p{L}/u.test(name)) return undefined;
  if (isDelimited) return prefixState(name, states);
  const isLong = name.length >= MIN_FUZZY_LETTERS && !isDirection(fold(name));
  return isLong ? fuzzyState(name, states) : exactState(name, states);
}

/** Splits a query into a name and a state in all possible ways. `requiredState`: the state that the query has already named. */
function splitNameAndState(
  tokens: readonly Token[],
  states: readonly State[],
  requiredState?: State,
): readonly NameInState[] {
  const maxWords = Math.min(tokens.length - 1, MAX_STATE_WORDS);
  const counts = Array.from({ length: Math.max(0, maxWords) }, (_, index) => maxWords - index);
  const splits = [
    ...counts.map((count) => [tokens.slice(-count), tokens.slice(0, -count), tokens.at(-count)] as const),
    ...counts.map((count) => [tokens.slice(0, count), tokens.slice(count), tokens[count]] as const),
  ];
  return splits
    .flatMap(([stateWords, nameTokens, boundaryToken]) => {
      const [words, nameWords] = [trimJoiningWords(stateWords), trimJoiningWords(nameTokens)];
      if (nameWords.length === 0 || words.length === 0 || words.length < stateWords.length - 2) return [];
      const stateText = joinTokens(words);
      const state = matchState(stateText, states, boundaryToken?.isDelimited === true);
      if (state === undefined || (requiredState !== undefined && state !== requiredState)) return [];
      // "South Delhi, Delhi" names its state twice. A third occurrence is not searched for, because each repetition would double
      // the work.
      const repeatedSplits = requiredState === undefined ? splitNameAndState(nameWords, states, state) : [];
      const name = joinTokens(nameWords);
      // "S Delhi": next to a state, a single letter is a direction.
      const isExact = exactState(stateText, states) === state;
      return [{ name: DIRECTION_LETTERS.get(fold(name)) ?? name, state, isExact }, ...repeatedSplits];
    })
    .filter(({ name }) => name.length > 1)
    .toSorted((one, other) => Number(other.isExact) - Number(one.isExact));
}

const toNamePairs = (tokens: readonly Token[]): ParsedQuery["namePairs"] =>
  tokens.slice(1).flatMap((next, index) => {
    const first = tokens.slice(0, index + 1);
    const second = tokens.slice(ALIAS_WORDS.has(next.folded) ? index + 2 : index + 1);
    const isBetween = ALIAS_WORDS.has(first.at(-1)?.folded ?? "");
    return second.length === 0 || isBetween ? [] : [[joinTokens(first), joinTokens(second)] as const];
  });

export function parseQuery(text: string, states: readonly State[]): ParsedQuery {
  const all = tokenize(text);
  const tokens = removeNoise(all);
  const name = tokens.length === all.length || tokens.length === 0 ? text.trim() : joinTokens(tokens);
  const state = exactState(name, states);
  return {
    name,
    state,
    nameStatePairs: splitNameAndState(tokens, states),
    namePairs: toNamePairs(tokens),
  };
}
