// Reads a query as people type it, before it is matched: words for district, the country, and the state that it names, in any
// form and place.
import type { State } from "../../contract/playground.ts";
import { DIRECTION_LETTERS, fold, isDirection, soundOf } from "./fold.ts";
import { exactState, stateBegun, stateLike } from "./state.ts";

/** A name, and the state given with it. */
export interface NameInState {
  readonly name: string;
  readonly state: State;
}

export interface Query {
  /** The query without words for district and the country; the query itself if it has no such word. */
  readonly name: string;
  /** The state that bears this name. */
  readonly state?: State;
  /** Readings of the query as a name and a state, the likeliest first. */
  readonly inStates: readonly NameInState[];
  /** Readings of the query as two names of one district: "Barwani (Badwani)". */
  readonly pairs: readonly (readonly [string, string])[];
}

interface Token {
  readonly text: string;
  readonly folded: string;
  /** What stands between the token before and this one: words that were taken out, blanks, punctuation. */
  readonly before: string;
  /** A comma, a bracket or a dash stands before it. */
  readonly isApart: boolean;
}

const wordSet = (words: string): ReadonlySet<string> => new Set(words.split(" "));

/** "District" in the languages of India, in Latin letters, by sound. */
const DISTRICT_WORDS = new Set(
  [
    ...wordSet("district districts districte dist distt dt zila zilla zillah zela jila jilla jilha jillo jille jela"),
    ...wordSet("janpad janapad janapada mavattam mavatam mavattom maavattam zilha jilaa"),
  ].map(soundOf),
);
const COUNTRY = wordSet("india bharat");
/** A district's offices: not a part of a name that has a word for district. */
const OFFICES = wordSet("parishad panchayat revenue administration collectorate headquarters hq");
const JOINING = wordSet("of in the state city town");
const BETWEEN_NAMES = wordSet("alias aka or formerly erstwhile urf now previously");
const POSTAL_CODE = /^[1-9]\d{5}$/;
/** The longest name of a state has ten words. */
const MAX_STATE_WORDS = 10;
const MIN_LIKE_LETTERS = 5;

const WORD = /(?:[\p{L}\p{M}\p{N}.'’&]|\u200c|\u200d)+/gu;
const APART = /[,;:/()[\]{}|–—-]/u;

function tokensOf(text: string): readonly Token[] {
  let end = 0;
  return [...text.matchAll(WORD)].map((match) => {
    const [word] = match;
    const before = text.slice(end, match.index);
    end = match.index + word.length;
    return { text: word, folded: fold(word), before, isApart: APART.test(before) };
  });
}

/** As it was typed, except for what was taken out. */
const textOf = (tokens: readonly Token[]): string =>
  tokens
    .map(({ text, before }, index) => `${index === 0 ? "" : before}${text}`)
    .join("")
    .replace(/^[\s.]+|\s+$/g, "");

/** Without the words at both ends that only join a name to its state. */
function trimmed(tokens: readonly Token[]): readonly Token[] {
  const isName = ({ folded }: Token): boolean => !JOINING.has(folded);
  const first = tokens.findIndex(isName);
  return first < 0 ? [] : tokens.slice(first, tokens.findLastIndex(isName) + 1);
}

/** Without the words for district and the country; all tokens if there are no others. */
function withoutNoise(all: readonly Token[]): readonly Token[] {
  const isDistrictWord = ({ folded }: Token): boolean => DISTRICT_WORDS.has(soundOf(folded));
  const isDistrict = all.some(isDistrictWord);
  const isNoise = (token: Token): boolean =>
    isDistrictWord(token) ||
    COUNTRY.has(token.folded) ||
    POSTAL_CODE.test(token.folded) ||
    (isDistrict && OFFICES.has(token.folded));
  // A blank remains in the place of words that are taken out.
  const kept = all
    .map((token, index) => (all.slice(index - 1, index).some(isNoise) ? { ...token, before: " " } : token))
    .filter((token) => !isNoise(token));
  return kept.length === 0 ? all : trimmed(kept);
}

/** The state that a run of words means. */
function stateNamed(name: string, states: readonly State[], isApart: boolean): State | undefined {
  if (isApart) return stateBegun(name, states);
  const isLong = name.length >= MIN_LIKE_LETTERS && !isDirection(fold(name));
  return isLong ? stateLike(name, states) : exactState(name, states);
}

/** `only`: the state that was named already. */
function splitsOf(tokens: readonly Token[], states: readonly State[], only?: State): readonly NameInState[] {
  const most = Math.min(tokens.length - 1, MAX_STATE_WORDS);
  const counts = Array.from({ length: Math.max(0, most) }, (_, index) => most - index);
  const splits = [
    ...counts.map((count) => [tokens.slice(-count), tokens.slice(0, -count), tokens.at(-count)] as const),
    ...counts.map((count) => [tokens.slice(0, count), tokens.slice(count), tokens[count]] as const),
  ];
  return splits
    .flatMap(([stateWords, rest, second]) => {
      const [words, nameWords] = [trimmed(stateWords), trimmed(rest)];
      if (nameWords.length === 0 || words.length === 0 || words.length < stateWords.length - 2) return [];
      const state = stateNamed(textOf(words), states, second?.isApart === true);
      if (state === undefined || (only !== undefined && state !== only)) return [];
      // "South Delhi, Delhi": named twice. Not looked for a third time: each repetition would double the work.
      const again = only === undefined ? splitsOf(nameWords, states, state) : [];
      const name = textOf(nameWords);
      // "S Delhi": beside its state a letter is a direction.
      return [{ name: DIRECTION_LETTERS.get(fold(name)) ?? name, state }, ...again];
    })
    .filter(({ name }) => name.length > 1);
}

const pairsOf = (tokens: readonly Token[]): Query["pairs"] =>
  tokens.slice(1).flatMap((next, index) => {
    const first = tokens.slice(0, index + 1);
    const second = tokens.slice(BETWEEN_NAMES.has(next.folded) ? index + 2 : index + 1);
    const isBetween = BETWEEN_NAMES.has(first.at(-1)?.folded ?? "");
    return second.length === 0 || isBetween ? [] : [[textOf(first), textOf(second)] as const];
  });

export function readQuery(text: string, states: readonly State[]): Query {
  const all = tokensOf(text);
  const tokens = withoutNoise(all);
  const name = tokens.length === all.length || tokens.length === 0 ? text.trim() : textOf(tokens);
  const state = exactState(name, states);
  return { name, ...(state && { state }), inStates: splitsOf(tokens, states), pairs: pairsOf(tokens) };
}
