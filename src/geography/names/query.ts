// A query as people type it, taken apart before it is matched: words for district, the country, and the state that it says,
// in any form and place.
import type { State } from "../../contract/playground.ts";
import { directionOf, fold, isDirection, soundOf } from "./fold.ts";
import { stateBegun, stateLike, stateMeant } from "./state.ts";

/** A name, and the state said with it. */
export interface NameInState {
  readonly name: string;
  readonly state: State;
}

export interface Query {
  /** The query without words for district and the country; the query itself where it has none such. */
  readonly name: string;
  /** That name is this state's. */
  readonly state?: State;
  /** How it may be a name and a state: the likeliest first. */
  readonly inStates: readonly NameInState[];
  /** How it may be two names of one district: "Barwani (Badwani)". */
  readonly pairs: readonly (readonly [string, string])[];
}

interface Token {
  readonly text: string;
  readonly start: number;
  readonly end: number;
  /** A comma, a bracket or a dash stands before it. */
  readonly isApart: boolean;
}

/** "District" in the languages of India, in Latin letters, as it sounds. */
const DISTRICT_WORDS = new Set(
  (
    "district districts districte dist distt dt zila zilla zillah zela jila jilla jilha jillo jille jela janpad janapad " +
    "janapada mavattam mavatam mavattom maavattam zilha jilaa"
  )
    .split(" ")
    .map(soundOf),
);
const COUNTRY = new Set(["india", "bharat"]);
/** Said of a district's offices: no part of a name that is said with a word for district. */
const OFFICES = new Set("parishad panchayat revenue administration collectorate headquarters hq".split(" "));
const JOINING = new Set(["of", "in", "the", "state", "city", "town"]);
const POSTAL_CODE = /^[1-9]\d{5}$/;
/** The longest name of a state has ten words. */
const MAX_STATE_WORDS = 10;
const MIN_LIKE_LETTERS = 5;

const WORD = /(?:[\p{L}\p{M}\p{N}.'’&]|\u200c|\u200d)+/gu;
const APART = /[,;:/()[\]{}|–—-]/u;

function tokensOf(text: string): readonly Token[] {
  let end = 0;
  return [...text.matchAll(WORD)].map((match) => {
    const start = match.index;
    const isApart = APART.test(text.slice(end, start));
    end = start + match[0].length;
    return { text: match[0], start, end, isApart };
  });
}

const isDistrictWord = ({ text }: Token): boolean => DISTRICT_WORDS.has(soundOf(fold(text)));

const isNoise = ({ text }: Token, isDistrict: boolean): boolean => {
  const word = fold(text);
  return COUNTRY.has(word) || POSTAL_CODE.test(word) || (isDistrict && OFFICES.has(word));
};

const isJoining = (token: Token | undefined): boolean => token !== undefined && JOINING.has(fold(token.text));

/** Without words that only join a name to its state, at both ends. */
function trimmed(tokens: readonly Token[]): readonly Token[] {
  const first = tokens.findIndex((token) => !isJoining(token));
  const last = tokens.findLastIndex((token) => !isJoining(token));
  return first < 0 ? [] : tokens.slice(first, last + 1);
}

/** As it was typed, but for what was taken out. */
const textOf = (tokens: readonly Token[], text: string): string =>
  tokens
    .map((token, index) => {
      const before = tokens[index - 1];
      const between = before === undefined ? "" : text.slice(before.end, token.start);
      // Whole words between two tokens were taken out.
      return `${before === undefined ? "" : /[\p{L}\p{N}]/u.test(between) ? " " : between}${token.text}`;
    })
    .join("")
    .replace(/^[\s.]+|\s+$/g, "");

/** What a run of words means as a state. */
function stateSaid(
  tokens: readonly Token[],
  text: string,
  states: readonly State[],
  isApart: boolean,
): State | undefined {
  const said = textOf(tokens, text);
  if (isApart) return stateLike(said, states) ?? stateBegun(said, states);
  const isLong = said.length >= MIN_LIKE_LETTERS && !isDirection(fold(said));
  return isLong ? stateLike(said, states) : stateMeant(said, states);
}

/** `only`: the state that was said already. */
function splitsOf(
  tokens: readonly Token[],
  text: string,
  states: readonly State[],
  only?: State,
): readonly NameInState[] {
  const most = Math.min(tokens.length - 1, MAX_STATE_WORDS);
  const counts = Array.from({ length: Math.max(0, most) }, (_, index) => most - index);
  const split = (stateWords: readonly Token[], rest: readonly Token[], isApart: boolean): readonly NameInState[] => {
    const name = trimmed(rest);
    const words = trimmed(stateWords);
    if (name.length === 0 || words.length === 0 || words.length < stateWords.length - 2) return [];
    const state = stateSaid(words, text, states, isApart);
    if (state === undefined || (only !== undefined && state !== only)) return [];
    // "South Delhi, Delhi": said twice. Not looked for a third time: each repetition would double the work.
    const again = only === undefined ? splitsOf(name, text, states, state) : [];
    const said = textOf(name, text);
    // "S Delhi": beside its state a letter is a direction.
    return [{ name: directionOf(fold(said)) ?? said, state }, ...again];
  };
  const behind = counts.flatMap((count) => {
    const said = tokens.slice(-count);
    return split(said, tokens.slice(0, -count), said[0]?.isApart === true);
  });
  const before = counts.flatMap((count) => {
    const rest = tokens.slice(count);
    return split(tokens.slice(0, count), rest, rest[0]?.isApart === true);
  });
  return [...behind, ...before].filter(({ name }) => name.length > 1);
}

const BETWEEN_NAMES = new Set(["alias", "aka", "or", "formerly", "erstwhile", "urf", "now", "previously"]);

function pairsOf(tokens: readonly Token[], text: string): Query["pairs"] {
  return tokens.slice(1).flatMap((_, index) => {
    const [head, tail] = [tokens.slice(0, index + 1), tokens.slice(index + 1)];
    const isBetween = (token: Token | undefined): boolean => token !== undefined && BETWEEN_NAMES.has(fold(token.text));
    const second = isBetween(tail[0]) ? tail.slice(1) : tail;
    return second.length === 0 || isBetween(head.at(-1)) ? [] : [[textOf(head, text), textOf(second, text)] as const];
  });
}

export function readQuery(text: string, states: readonly State[]): Query {
  const all = tokensOf(text);
  const isDistrict = all.some(isDistrictWord);
  const kept = all.filter((token) => !isDistrictWord(token) && !isNoise(token, isDistrict));
  const tokens = kept.length === 0 ? all : trimmed(kept);
  const isWhole = tokens.length === all.length || tokens.length === 0;
  const name = isWhole ? text.trim() : textOf(tokens, text);
  const state = stateMeant(name, states);
  return { name, ...(state && { state }), inStates: splitsOf(tokens, text, states), pairs: pairsOf(tokens, text) };
}
