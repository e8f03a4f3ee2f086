// Names as people write them, brought to one form (Latin letters without case, accents and punctuation), how they sound, and how
// alike two of them are. The weights are what `npm run bench:names` shows to be good.
import { distance } from "fastest-levenshtein";
import { isIndianScript, latinOf } from "./scripts.ts";

/**
 * Longest name, in characters. The contract sets no maximum length; the longest name of a state or district has 40 characters.
 * Longer names are cut when a list is read, so that comparing names takes a bounded time.
 */
export const MAX_NAME = 120;
/** Words of a name that are compared, and letters of a word: comparing two names takes time by the product of both. */
const MAX_WORDS = 16;
const MAX_LETTERS = 40;

/** "Dr. B.R. Ambedkar  Konasīma" -> "dr br ambedkar konasima". Dots between initials join them; other punctuation separates words. */
export const fold = (name: string): string =>
  latinOf(name.slice(0, MAX_NAME))
    .toLowerCase()
    .normalize("NFKD")
    // One character may become eighteen.
    .slice(0, 2 * MAX_NAME)
    .replace(/\p{M}+/gu, "")
    .toLowerCase()
    .replace(/\.(?=\p{L}{2})/gu, " ")
    .replace(/['’`ʼ.]/gu, "")
    .replace(/&/g, " and ")
    .replace(/[^\p{L}\p{N}]+/gu, " ")
    .trim();

/** Words that the directory itself adds to some names and leaves out of others. */
const GENERIC = new Set(["district", "districts", "the"]);

/** Words that lists write in either language, in short, or as a number. */
const SAME_WORDS: ReadonlyMap<string, string> = new Map(
  Object.entries({
    east: "purba purbi purbo purv purvi purva poorv poorba poorbi poorva poorvi turpu",
    west: "paschim pashchim paschimi pashchimi paschima poshchim",
    south: "dakshin dakshina dakshini dokkhin",
    north: "uttar uttara uttari",
    parganas: "pargana pgs pgns prgs parganah paragana paragna porgona",
    metro: "metropolitan mahanagar",
    rural: "gramin grameen grameena gramantara",
    urban: "nagara shahari",
    suburban: "upnagar upanagar upanagara",
    and: "evam tatha ebong",
    "24": "chaubis chabbish",
  }).flatMap(([today, others]) => others.split(" ").map((other) => [other, today])),
);

const translated = (word: string): string => SAME_WORDS.get(word) ?? word;

/** The words of a folded name; the generic ones only if the name has no other. */
function wordsOf(folded: string): readonly string[] {
  const words = folded.replace(/\btwenty four\b/, "24").split(" ");
  const significant = words.filter((word) => !GENERIC.has(word));
  return (significant.length > 0 ? significant : words).slice(0, MAX_WORDS).map((word) => word.slice(0, MAX_LETTERS));
}

/** "sw" -> "south west". */
export const DIRECTION_LETTERS: ReadonlyMap<string, string> = new Map(
  Object.entries({
    e: "east",
    w: "west",
    n: "north",
    s: "south",
    ne: "north east",
    nw: "north west",
    se: "south east",
    sw: "south west",
  }),
);

const DIRECTIONS = new Set(["north", "south", "east", "west", "central", "upper", "lower", "middle"]);
const MODIFIERS = new Set([...DIRECTIONS, "urban", "rural", "metro"]);

export const isDirection = (word: string): boolean => DIRECTIONS.has(translated(word));

/** First letters, in both languages, of a word that tells districts of one name apart: "uttar" -> "u", "n"; empty for other words. */
export const lettersOf = (word: string): readonly string[] =>
  MODIFIERS.has(translated(word)) ? [...new Set([word.charAt(0), translated(word).charAt(0)])] : [];

// Romanization varies between these; the order matters: longer ones first.
const SOUNDS: readonly (readonly [RegExp, string])[] = [
  [/(?<=.{2})(?:ore|aur|or)$/g, "ur"],
  [/(?<=.{2}[lr])u$/g, ""],
  [/aa/g, "a"],
  [/ee|ie|ey/g, "i"],
  [/oo|ou/g, "u"],
  [/au|ow/g, "o"],
  [/ai/g, "e"],
  [/chh/g, "c"],
  [/ksh|x/g, "ks"],
  [/ph/g, "f"],
  [/([kgcjtdbsrz])h/g, "$1"],
  [/v|w/g, "v"],
  [/z/g, "j"],
  [/q|ck|c(?=[aoukrl])/g, "k"],
  [/[ye]/g, "i"],
  [/(.)\1+/g, "$1"],
];

/** How a folded word sounds, roughly: most spellings of one Indian name have one sound. */
export const soundOf = (word: string): string =>
  SOUNDS.reduce((sound, [pattern, replacement]) => sound.replace(pattern, replacement), word);

/** A word, its sound, and its sound without the vowel that Indian scripts do not write. */
interface Form {
  readonly text: string;
  readonly sound: string;
  readonly bare: string;
}

export interface NameForms {
  /** Two names that share one are the same name, written differently. */
  readonly keys: readonly string[];
  /** The same by sound, for names that have no spelling in Latin letters. */
  readonly soundKeys: readonly string[];
  /** As they were written. */
  readonly ownWords: readonly string[];
  /** In one language. */
  readonly words: readonly Form[];
  /** Without blanks, since people separate words as they like: "Banas Kantha", "Banaskantha". */
  readonly run: Form;
  readonly isIndianScript: boolean;
}

function formOf(text: string): Form {
  const sound = soundOf(text);
  return { text, sound, bare: sound.slice(0, 1) + sound.slice(1).replaceAll("a", "") };
}

export function formsOf(name: string): NameForms {
  const folded = fold(name);
  const ownWords = wordsOf(folded);
  const words = ownWords.map((word) => formOf(translated(word)));
  const run = formOf(ownWords.join(""));
  const sorted = (form: "text" | "sound"): string =>
    `words ${words
      .map((word) => word[form])
      .toSorted()
      .join(" ")}`;
  return {
    keys: [folded, `run ${run.text}`, sorted("text")],
    soundKeys: [`sound ${run.sound}`, `sound ${sorted("sound")}`],
    ownWords,
    words,
    run,
    isIndianScript: isIndianScript(name),
  };
}

/** The forms of a query; also with directions written out if it has their letters: "E Champaran" -> "east champaran". */
export function toQueryForms(name: string): readonly NameForms[] {
  const forms = formsOf(name);
  const { ownWords } = forms;
  const directed = ownWords.map((word) => DIRECTION_LETTERS.get(word) ?? word).join(" ");
  return ownWords.length < 2 || directed === ownWords.join(" ") ? [forms] : [forms, formsOf(directed)];
}

/** One name, except for case, accents, punctuation, blanks, the order of words and the language of directions. */
export const isSameName = (a: NameForms, b: NameForms): boolean => a.keys.some((key) => b.keys.includes(key));

/** Another spelling of one name. */
export const soundsSame = (a: NameForms, b: NameForms): boolean => a.run.sound === b.run.sound;

/** All words of the first are words of the second, which has others. */
export const isPartOf = (part: NameForms, name: NameForms): boolean =>
  part.words.length < name.words.length &&
  part.words.every(({ text }) => name.words.some((word) => word.text === text));

/** Pairs of letters, by which names that may be alike are found. */
export function pairsOf({ words, run }: NameForms): ReadonlySet<string> {
  const pairs = new Set<string>();
  for (const { sound } of [run, ...words]) {
    const framed = `^${sound}`;
    for (let index = 0; index < framed.length - 1; index++) pairs.add(framed.slice(index, index + 2));
  }
  return pairs;
}

const MAX_SIMILAR = 0.99;
const MIN_WORD_SCORE = 0.5;
/** Words of the same sound are almost as good as equal ones; short words sound alike too often. */
const SOUND_WEIGHT = 0.97;
const SHORT_SOUND = 0.9;
const SHORT_LETTERS = 6;
/** Score of a part of a name, given in full: this much, and up to 1. */
const PART_SCORE = 0.8;

/** Two neighboring letters are exchanged: the most common typing error. */
function isSwap(a: string, b: string): boolean {
  if (a.length !== b.length) return false;
  const at = [...a].findIndex((letter, index) => letter !== b[index]);
  return a[at] === b[at + 1] && a[at + 1] === b[at] && a.slice(at + 2) === b.slice(at + 2);
}

function likeness(a: string, b: string): number {
  // The difference in length alone makes it less than half: it would not count (MIN_WORD_SCORE).
  if (2 * Math.min(a.length, b.length) < Math.max(a.length, b.length)) return 0;
  const edits = distance(a, b);
  return 1 - (edits === 2 && isSwap(a, b) ? 0.5 : edits) / Math.max(a.length, b.length, 1);
}

/** Likeness of two words, as written or as they sound. A beginning of three letters or more counts as well. */
function wordLikeness(query: Form, word: Form, isTransliterated: boolean): number {
  if (query.text === word.text) return 1;
  const limit = Math.min(query.text.length, word.text.length) < SHORT_LETTERS ? SHORT_SOUND : SOUND_WEIGHT;
  const isBare = isTransliterated && Math.min(query.bare.length, word.bare.length) > 2;
  return Math.max(
    likeness(query.text, word.text),
    Math.min(limit, SOUND_WEIGHT * likeness(query.sound, word.sound)),
    query.text.length >= 3 && word.text.startsWith(query.text) ? PART_SCORE : 0,
    isBare ? SOUND_WEIGHT * SOUND_WEIGHT * likeness(query.bare, word.bare) : 0,
  );
}

const lengthOf = (words: readonly Form[]): number => words.reduce((sum, { text }) => sum + text.length, 0);

/** Compares each asked word with the word that fits it best. Words that were not asked for reduce the score by their length. */
function wordsLikeness(query: readonly Form[], words: readonly Form[], isTransliterated: boolean): number {
  const left = [...words];
  let hit = 0;
  for (const word of query) {
    const scores = left.map((each) => wordLikeness(word, each, isTransliterated));
    const best = Math.max(0, ...scores);
    // Any two short words are half alike: that does not count.
    if (best < MIN_WORD_SCORE) continue;
    hit += best * word.text.length;
    left.splice(scores.indexOf(best), 1);
  }
  const matched = hit / Math.max(1, lengthOf(query));
  const rest = lengthOf(left) / Math.max(1, lengthOf(words));
  return matched * (1 - (1 - PART_SCORE) * rest);
}

/** How alike a name is to the one asked for: 0 to 0.99. */
export function nameLikeness(query: NameForms, name: NameForms): number {
  const run = wordLikeness(query.run, name.run, query.isIndianScript);
  return Math.min(Math.max(run, wordsLikeness(query.words, name.words, query.isIndianScript)), MAX_SIMILAR);
}
