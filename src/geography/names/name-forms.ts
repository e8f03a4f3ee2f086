// Names as people write them, brought to one form (Latin letters without case, accents and punctuation), how they sound, and how
// alike two of them are. The weights are what `npm run bench:names` shows to be good.
import { distance } from "fastest-levenshtein";
import { isIndianScript, toLatin } from "./transliteration.ts";

/**
 * Longest name, in characters. The contract sets no maximum length; the longest name of a state or district has 40 characters.
 * Longer names are cut when a list is read, so that comparing names takes a bounded time.
 */
export const MAX_NAME_LENGTH = 120;
/** Words of a name that are compared, and letters of a word: comparing two names takes time by the product of both. */
const MAX_WORDS = 16;
const MAX_LETTERS = 40;

/** "Dr. B.R. Ambedkar  Konasīma" -> "dr br ambedkar konasima". Dots between initials join them; other punctuation separates words. */
export const fold = (name: string): string =>
  toLatin(name.slice(0, MAX_NAME_LENGTH))
    .toLowerCase()
    .normalize("NFKD")
    // One character may become eighteen.
    .slice(0, 2 * MAX_NAME_LENGTH)
    .replace(/\p{M}+/gu, "")
    .toLowerCase()
    .replace(/\.(?=\p{L}{2})/gu, " ")
    .replace(/['’`ʼ.]/gu, "")
    .replace(/&/g, " and ")
    .replace(/[^\p{L}\p{N}]+/gu, " ")
    .trim();

/** Words that the directory itself adds to some names and leaves out of others. */
const GENERIC_WORDS = new Set(["district", "districts", "the"]);

/** Words that lists write in either language, in short, or as a number. */
const WORD_SYNONYMS: ReadonlyMap<string, string> = new Map(
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

const translateWord = (word: string): string => WORD_SYNONYMS.get(word) ?? word;

/** The words of a folded name; the generic ones only if the name has no other. */
function splitSignificantWords(folded: string): readonly string[] {
  const words = folded.replace(/\btwenty four\b/, "24").split(" ");
  const significant = words.filter((word) => !GENERIC_WORDS.has(word));
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

export const isDirection = (word: string): boolean => DIRECTIONS.has(translateWord(word));

/** First letters, in both languages, of a word that tells districts of one name apart: "uttar" -> "u", "n"; empty for other words. */
export const modifierInitials = (word: string): readonly string[] =>
  MODIFIERS.has(translateWord(word)) ? [...new Set([word.charAt(0), translateWord(word).charAt(0)])] : [];

// Romanization varies between these; the order matters: longer ones first.
const SOUND_RULES: readonly (readonly [RegExp, string])[] = [
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
export const toSound = (word: string): string =>
  SOUND_RULES.reduce((sound, [pattern, replacement]) => sound.replace(pattern, replacement), word);

/** A word, its sound, and its sound without the vowel that Indian scripts do not write. */
interface WordForm {
  readonly text: string;
  readonly sound: string;
  readonly soundWithoutInherentVowel: string;
}

export interface NameForms {
  /** Two names that share one are the same name, written differently. */
  readonly keys: readonly string[];
  /** The same by sound, for names that have no spelling in Latin letters. */
  readonly soundKeys: readonly string[];
  /** As they were written. */
  readonly ownWords: readonly string[];
  /** In one language. */
  readonly words: readonly WordForm[];
  /** Without blanks, since people separate words as they like: "Banas Kantha", "Banaskantha". */
  readonly joined: WordForm;
  readonly isIndianScript: boolean;
}

function toWordForm(text: string): WordForm {
  const sound = toSound(text);
  return { text, sound, soundWithoutInherentVowel: sound.slice(0, 1) + sound.slice(1).replaceAll("a", "") };
}

export function toNameForms(name: string): NameForms {
  const folded = fold(name);
  const ownWords = splitSignificantWords(folded);
  const words = ownWords.map((word) => toWordForm(translateWord(word)));
  const joined = toWordForm(ownWords.join(""));
  const sortedKey = (form: "text" | "sound"): string =>
    `words ${words
      .map((word) => word[form])
      .toSorted()
      .join(" ")}`;
  return {
    keys: [folded, `run ${joined.text}`, sortedKey("text")],
    soundKeys: [`sound ${joined.sound}`, `sound ${sortedKey("sound")}`],
    ownWords,
    words,
    joined,
    isIndianScript: isIndianScript(name),
  };
}

/** The forms of a query; also with directions written out if it has their letters: "E Champaran" -> "east champaran". */
export function toQueryForms(name: string): readonly NameForms[] {
  const forms = toNameForms(name);
  const { ownWords } = forms;
  const expandedName = ownWords.map((word) => DIRECTION_LETTERS.get(word) ?? word).join(" ");
  return ownWords.length < 2 || expandedName === ownWords.join(" ") ? [forms] : [forms, toNameForms(expandedName)];
}

/** One name, except for case, accents, punctuation, blanks, the order of words and the language of directions. */
export const isSameName = (a: NameForms, b: NameForms): boolean => a.keys.some((key) => b.keys.includes(key));

/** Another spelling of one name. */
export const hasSameSound = (a: NameForms, b: NameForms): boolean => a.joined.sound === b.joined.sound;

/** All words of the first are words of the second, which has others. */
export const isPartOf = (part: NameForms, name: NameForms): boolean =>
  part.words.length < name.words.length &&
  part.words.every(({ text }) => name.words.some((word) => word.text === text));

/** Pairs of letters, by which names that may be alike are found. */
export function toLetterPairs({ words, joined }: NameForms): ReadonlySet<string> {
  const pairs = new Set<string>();
  for (const { sound } of [joined, ...words]) {
    const anchored = `^${sound}`;
    for (let index = 0; index < anchored.length - 1; index++) pairs.add(anchored.slice(index, index + 2));
  }
  return pairs;
}

const MAX_SIMILARITY = 0.99;
const MIN_WORD_SCORE = 0.5;
/** Words of the same sound are almost as good as equal ones; short words sound alike too often. */
const SOUND_WEIGHT = 0.97;
const SHORT_SOUND_WEIGHT = 0.9;
const SHORT_WORD_LETTERS = 6;
/** Score of a part of a name, given in full: this much, and up to 1. */
const PART_SCORE = 0.8;

/** Two neighboring letters are exchanged: the most common typing error. */
function isTransposition(a: string, b: string): boolean {
  if (a.length !== b.length) return false;
  const at = [...a].findIndex((letter, index) => letter !== b[index]);
  return a[at] === b[at + 1] && a[at + 1] === b[at] && a.slice(at + 2) === b.slice(at + 2);
}

function similarity(a: string, b: string): number {
  // The difference in length alone makes it less than half: it would not count (MIN_WORD_SCORE).
  if (2 * Math.min(a.length, b.length) < Math.max(a.length, b.length)) return 0;
  const edits = distance(a, b);
  return 1 - (edits === 2 && isTransposition(a, b) ? 0.5 : edits) / Math.max(a.length, b.length, 1);
}

/** Likeness of two words, as written or as they sound. A beginning of three letters or more counts as well. */
function wordSimilarity(query: WordForm, word: WordForm, isTransliterated: boolean): number {
  if (query.text === word.text) return 1;
  const limit = Math.min(query.text.length, word.text.length) < SHORT_WORD_LETTERS ? SHORT_SOUND_WEIGHT : SOUND_WEIGHT;
  const comparesWithoutInherentVowel =
    isTransliterated && Math.min(query.soundWithoutInherentVowel.length, word.soundWithoutInherentVowel.length) > 2;
  return Math.max(
    similarity(query.text, word.text),
    Math.min(limit, SOUND_WEIGHT * similarity(query.sound, word.sound)),
    query.text.length >= 3 && word.text.startsWith(query.text) ? PART_SCORE : 0,
    comparesWithoutInherentVowel
      ? SOUND_WEIGHT * SOUND_WEIGHT * similarity(query.soundWithoutInherentVowel, word.soundWithoutInherentVowel)
      : 0,
  );
}

const totalLength = (words: readonly WordForm[]): number => words.reduce((sum, { text }) => sum + text.length, 0);

/** Compares each asked word with the word that fits it best. Words that were not asked for reduce the score by their length. */
function wordListSimilarity(query: readonly WordForm[], words: readonly WordForm[], isTransliterated: boolean): number {
  const remaining = [...words];
  let matchedLength = 0;
  for (const word of query) {
    const scores = remaining.map((each) => wordSimilarity(word, each, isTransliterated));
    const best = Math.max(0, ...scores);
    // Any two short words are half alike: that does not count.
    if (best < MIN_WORD_SCORE) continue;
    matchedLength += best * word.text.length;
    remaining.splice(scores.indexOf(best), 1);
  }
  const matched = matchedLength / Math.max(1, totalLength(query));
  const unmatchedShare = totalLength(remaining) / Math.max(1, totalLength(words));
  return matched * (1 - (1 - PART_SCORE) * unmatchedShare);
}

/** How alike a name is to the one asked for: 0 to 0.99. */
export function nameSimilarity(query: NameForms, name: NameForms): number {
  const joined = wordSimilarity(query.joined, name.joined, query.isIndianScript);
  return Math.min(Math.max(joined, wordListSimilarity(query.words, name.words, query.isIndianScript)), MAX_SIMILARITY);
}
