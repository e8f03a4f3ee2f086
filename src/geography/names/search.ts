// Which districts a name may mean: by the very name, by another name of the same place, by likeness. The thresholds are
// what `npm run bench:names` shows to be good; test/geography/names.test.ts holds its rates.
import { distance } from "fastest-levenshtein";
import { aliasesOf } from "./aliases.ts";
import { fold, soundOf, wordsOf } from "./fold.ts";

export type Match = "exact" | "alias" | "similar";

export interface Found<T> {
  readonly item: T;
  readonly match: Match;
  /** 0 to 1. */
  readonly score: number;
}

/** Less like than this is not told at all. */
const MIN_SCORE = 0.68;
/** As like as this, it may be the very district, spelt another way. */
const TWIN_SCORE = 0.95;
/** As close as this to the best, it cannot be told apart from it. */
const CLOSE = 0.06;

const ALIAS_SCORE = 0.98;
/** Words that sound the same are as good as equal, but not quite. */
const SOUND_WEIGHT = 0.97;
/** A part of a name, said whole, is worth this much and up to all of it. */
const PART_SCORE = 0.8;

const likeness = (a: string, b: string): number => 1 - distance(a, b) / Math.max(a.length, b.length, 1);

/** A word's likeness: as written, or as it sounds. A beginning of three letters or more counts as well. */
function wordLikeness(asked: string, word: string): number {
  if (asked === word) return 1;
  const [askedSound, sound] = [soundOf(asked), soundOf(word)];
  const heard = SOUND_WEIGHT * likeness(askedSound, sound);
  const prefix = asked.length >= 3 && word.startsWith(asked) ? PART_SCORE : 0;
  return Math.max(likeness(asked, word), heard, prefix);
}

/** Each asked word with the word that fits it best; words that were not asked for cost by their length. */
function wordsLikeness(asked: readonly string[], words: readonly string[]): number {
  const lettersOf = (list: readonly string[]): number => list.reduce((sum, { length }) => sum + length, 0);
  const left = [...words];
  let hit = 0;
  for (const word of asked) {
    const scores = left.map((each) => wordLikeness(word, each));
    const best = Math.max(0, ...scores);
    // A half-likeness of words is none: short words are half like anything.
    hit += (best >= 0.5 ? best : 0) * word.length;
    if (best >= 0.5) left.splice(scores.indexOf(best), 1);
  }
  const matched = hit / Math.max(1, lettersOf(asked));
  const rest = lettersOf(left) / Math.max(1, lettersOf(words));
  return matched * (1 - (1 - PART_SCORE) * rest);
}

/** 0 to 1: how like a directory's name is to the one asked for. */
export function nameLikeness(asked: string, name: string): number {
  const [askedWords, words] = [wordsOf(asked), wordsOf(name)];
  const [askedRun, run] = [askedWords.join(""), words.join("")];
  if (askedRun === run) return 1;
  // Run together, since people part words as they like: "Banas Kantha", "Banaskantha".
  return Math.max(wordLikeness(askedRun, run), wordsLikeness(askedWords, words)) * 0.999;
}

export interface Search<T> {
  /** Best first. */
  readonly found: readonly Found<T>[];
  /** More than one of them may be meant. */
  readonly ambiguous: boolean;
}

const RANK: Readonly<Record<Match, number>> = { exact: 0, alias: 1, similar: 2 };

function isAmbiguous(found: readonly Found<unknown>[]): boolean {
  const [best] = found;
  if (best === undefined) return false;
  const isRival = ({ match, score }: Found<unknown>): boolean =>
    match !== "similar" || score >= TWIN_SCORE || (best.match === "similar" && score >= best.score - CLOSE);
  return found.filter(isRival).length > 1;
}

export function searchNames<T>(asked: string, items: readonly T[], nameOf: (item: T) => string): Search<T> {
  const names = items.map((item) => ({ item, name: nameOf(item), folded: fold(nameOf(item)) }));
  const live = new Set(names.map(({ folded }) => folded));
  const askedName = fold(asked);
  const askedWords = wordsOf(asked).join(" ");
  const aliases = new Set([askedName, askedWords].flatMap((name) => [...aliasesOf(name, (each) => live.has(each))]));
  const found = names.flatMap(({ item, name, folded }): Found<T>[] => {
    if (folded === askedName || wordsOf(name).join(" ") === askedWords) return [{ item, match: "exact", score: 1 }];
    if (aliases.has(folded)) return [{ item, match: "alias", score: ALIAS_SCORE }];
    const score = Math.round(nameLikeness(asked, name) * 100) / 100;
    return score >= MIN_SCORE ? [{ item, match: "similar", score }] : [];
  });
  found.sort((a, b) => RANK[a.match] - RANK[b.match] || b.score - a.score || (nameOf(a.item) < nameOf(b.item) ? -1 : 1));
  return { found, ambiguous: isAmbiguous(found) };
}
