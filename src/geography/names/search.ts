// Which districts a name may mean: by the very name, by another name of the same place, by likeness. The thresholds are
// what `npm run bench:names` shows to be good; test/geography/names.test.ts holds its rates.
import { distance } from "fastest-levenshtein";
import { BoundedMap } from "../../bounded-map.ts";
import { aliasesOf } from "./aliases.ts";
import { fold, soundOf, wordsOf } from "./fold.ts";

export type NameMatch = "exact" | "alias" | "similar";

export interface SearchResult<T> {
  readonly item: T;
  readonly match: NameMatch;
  /** 0 to 1. */
  readonly score: number;
  /** Another spelling of the very same name: written apart, it may be the same place. */
  readonly isTwin: boolean;
}

/** Weaker matches than this are left out. */
const MIN_SCORE = 0.7;
/** The same, where the very name is there as well. */
const MIN_SCORE_BESIDE_EXACT = 0.75;

const ALIAS_SCORE = 0.98;
const MAX_SIMILAR = 0.99;
const MIN_WORD_SCORE = 0.5;
/** Words that sound the same are as good as equal, but not quite. */
const SOUND_WEIGHT = 0.97;
/** A part of a name, said whole, is worth this much and up to all of it. */
const PART_SCORE = 0.8;

/** A word, and how it sounds. */
interface Form {
  readonly text: string;
  readonly sound: string;
}

interface NameForms {
  readonly folded: string;
  /** The words, parted by blanks. */
  readonly text: string;
  readonly words: readonly Form[];
  /** Run together, since people part words as they like: "Banas Kantha", "Banaskantha". */
  readonly run: Form;
}

const formOf = (text: string): Form => ({ text, sound: soundOf(text) });

function formsOf(name: string): NameForms {
  const words = wordsOf(name);
  return { folded: fold(name), text: words.join(" "), words: words.map(formOf), run: formOf(words.join("")) };
}

// The directory's names are the same from query to query.
const MAX_KEPT = 4096;
const kept = new BoundedMap<string, NameForms>(MAX_KEPT);

function keptFormsOf(name: string): NameForms {
  const known = kept.get(name);
  if (known !== undefined) return known;
  const forms = formsOf(name);
  kept.set(name, forms);
  return forms;
}

/** Two neighbouring letters changed places: the commonest slip of a typist. */
function isSwap(a: string, b: string): boolean {
  if (a.length !== b.length) return false;
  const at = [...a].findIndex((letter, index) => letter !== b[index]);
  return a[at] === b[at + 1] && a[at + 1] === b[at] && a.slice(at + 2) === b.slice(at + 2);
}

function likeness(a: string, b: string): number {
  const edits = distance(a, b);
  return 1 - (edits === 2 && isSwap(a, b) ? 0.5 : edits) / Math.max(a.length, b.length, 1);
}

/** A word's likeness: as written, or as it sounds. A beginning of three letters or more counts as well. */
function wordLikeness(asked: Form, word: Form): number {
  if (asked.text === word.text) return 1;
  const heard = SOUND_WEIGHT * likeness(asked.sound, word.sound);
  const prefix = asked.text.length >= 3 && word.text.startsWith(asked.text) ? PART_SCORE : 0;
  return Math.max(likeness(asked.text, word.text), heard, prefix);
}

const lettersOf = (words: readonly Form[]): number => words.reduce((sum, { text }) => sum + text.length, 0);

/** Each asked word with the word that fits it best; words that were not asked for cost by their length. */
function wordsLikeness(asked: readonly Form[], words: readonly Form[]): number {
  const left = [...words];
  let hit = 0;
  for (const word of asked) {
    const scores = left.map((each) => wordLikeness(word, each));
    const best = Math.max(0, ...scores);
    // Short words are half like anything: that is no likeness.
    if (best < MIN_WORD_SCORE) continue;
    hit += best * word.text.length;
    left.splice(scores.indexOf(best), 1);
  }
  const matched = hit / Math.max(1, lettersOf(asked));
  const rest = lettersOf(left) / Math.max(1, lettersOf(words));
  return matched * (1 - (1 - PART_SCORE) * rest);
}

/** 0 to 1: how like a directory's name is to the one asked for. Only a name of the same words is wholly like. */
function nameLikeness(asked: NameForms, name: NameForms): number {
  const score = Math.max(wordLikeness(asked.run, name.run), wordsLikeness(asked.words, name.words));
  return Math.min(score, MAX_SIMILAR);
}

export interface Search<T> {
  /** Best first. */
  readonly found: readonly SearchResult<T>[];
  /** More than one of them may be meant. */
  readonly ambiguous: boolean;
}

const RANK: Readonly<Record<NameMatch, number>> = { exact: 0, alias: 1, similar: 2 };

function isAmbiguous(found: readonly SearchResult<unknown>[]): boolean {
  const [best] = found;
  if (best === undefined) return false;
  // A likeness is a guess, even where it is the only one.
  if (best.match === "similar") return true;
  const isRival = ({ match, isTwin }: SearchResult<unknown>): boolean => match !== "similar" || isTwin;
  return found.filter(isRival).length > 1;
}

/** The weakest match that is shown; fewer where the exact name is there. */
function tellable<T>(found: readonly SearchResult<T>[]): readonly SearchResult<T>[] {
  const isNamed = found.some(({ match }) => match !== "similar");
  return found.filter(({ score }) => score >= (isNamed ? MIN_SCORE_BESIDE_EXACT : MIN_SCORE));
}

/** Things by their names, made ready to be searched. */
export interface NameIndex<T> {
  readonly names: readonly { readonly item: T; readonly name: string; readonly forms: NameForms }[];
  /** All folded names. */
  readonly live: ReadonlySet<string>;
}

export function indexNames<T>(items: readonly T[], nameOf: (item: T) => string): NameIndex<T> {
  const names = items.map((item) => ({ item, name: nameOf(item), forms: keptFormsOf(nameOf(item)) }));
  return { names, live: new Set(names.map(({ forms }) => forms.folded)) };
}

/** Which of the names the asked one is, and which are another name of the same place. */
function namedBy<T>(asked: string, { names, live }: NameIndex<T>) {
  const askedForms = formsOf(asked);
  const isNamed = (forms: NameForms): boolean => forms.folded === askedForms.folded || forms.text === askedForms.text;
  // A name that is there is no misspelling of another's former one.
  const aliases = aliasesOf(asked, (each) => live.has(each), { bySound: !names.some(({ forms }) => isNamed(forms)) });
  return { askedForms, isNamed, aliases };
}

/** One of the names is the asked one, or another name of the same place: more than a likeness. */
export function isNamedIn<T>(asked: string, index: NameIndex<T>): boolean {
  const { isNamed, aliases } = namedBy(asked, index);
  return index.names.some(({ forms }) => isNamed(forms) || aliases.has(forms.folded));
}

export function searchIndex<T>(asked: string, index: NameIndex<T>): Search<T> {
  const { askedForms, isNamed, aliases } = namedBy(asked, index);
  const all = index.names.map(({ item, name, forms }) => {
    const isTwin = forms.run.sound === askedForms.run.sound;
    const judged = (match: NameMatch, score: number) => ({ name, result: { item, match, score, isTwin } });
    if (isNamed(forms)) return judged("exact", 1);
    if (aliases.has(forms.folded)) return judged("alias", ALIAS_SCORE);
    return judged("similar", Math.round(nameLikeness(askedForms, forms) * 100) / 100);
  });
  type Judged = (typeof all)[number];
  const byRank = (a: Judged, b: Judged): number =>
    RANK[a.result.match] - RANK[b.result.match] || b.result.score - a.result.score || (a.name < b.name ? -1 : 1);
  const found = tellable(all.toSorted(byRank).map(({ result }) => result));
  return { found, ambiguous: isAmbiguous(found) };
}

export const searchNames = <T>(asked: string, items: readonly T[], nameOf: (item: T) => string): Search<T> =>
  searchIndex(asked, indexNames(items, nameOf));
