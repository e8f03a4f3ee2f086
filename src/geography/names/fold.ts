// Names as people write them, brought to one form: in Latin letters, without case, accents, punctuation; and as they sound.
import { latinOf } from "./scripts.ts";

/**
 * Longest name, in characters. The contract sets no maximum length; the longest name of a state or district has 40 characters.
 * Longer names are cut when a list is read, so that comparing names takes a bounded time.
 */
export const MAX_NAME = 120;

/** "Dr. B.R. Ambedkar  Konasīma" -> "dr br ambedkar konasima". Dots inside a word's initials join, all else parts words. */
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

/** What the directory itself adds to some names and leaves out of others. */
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

const DIRECTION_LETTERS: ReadonlyMap<string, string> = new Map([
  ["e", "east"],
  ["w", "west"],
  ["n", "north"],
  ["s", "south"],
  ["ne", "north east"],
  ["nw", "north west"],
  ["se", "south east"],
  ["sw", "south west"],
]);

/** The folded words of a name; the generic ones only where nothing else is left. */
export function wordsOf(name: string): readonly string[] {
  const words = fold(name)
    .replace(/\btwenty four\b/, "24")
    .split(" ");
  const significant = words.filter((word) => !GENERIC.has(word));
  return significant.length > 0 ? significant : words;
}

/** The same word for what two languages call otherwise. */
export const inOneLanguage = (words: readonly string[]): readonly string[] =>
  words.map((word) => SAME_WORDS.get(word) ?? word);

/** "sw" -> "south west". */
export const directionOf = (word: string): string | undefined => DIRECTION_LETTERS.get(word);

/** "E Champaran" -> "east champaran"; undefined where no direction is said by its letter. */
export function withDirections(name: string): string | undefined {
  const words = wordsOf(name);
  const said = words.map((word) => directionOf(word) ?? word);
  return words.length > 1 && said.some((word, index) => word !== words[index]) ? said.join(" ") : undefined;
}

const DIRECTIONS = new Set(["north", "south", "east", "west", "central", "upper", "lower", "middle"]);

export const isDirection = (word: string): boolean => DIRECTIONS.has(SAME_WORDS.get(word) ?? word);

const MODIFIERS = new Set([...DIRECTIONS, "urban", "rural", "metro"]);

/** A word that parts districts of one name, by its first letters in both languages: "uttar" -> "u", "n"; none of other words. */
export function lettersOf(word: string): readonly string[] {
  const translated = SAME_WORDS.get(word) ?? word;
  return MODIFIERS.has(translated) ? [...new Set([word.charAt(0), translated.charAt(0)])] : [];
}

// Romanization wavers between these; the order matters: longer ones first.
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

/** How a folded word sounds, roughly: spellings of one Indian name mostly meet here. */
export const soundOf = (word: string): string =>
  SOUNDS.reduce((sound, [pattern, replacement]) => sound.replace(pattern, replacement), word);
