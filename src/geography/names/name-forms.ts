// Normalizes names as people write them (Latin letters without case, accents and punctuation), and compares them by sound and
// similarity. The weights are chosen by the results of `npm run bench:names`.
import { distance } from "fastest-levenshtein";
import { isIndianScript, toLatin } from "./transliteration.ts";

/** The longest name has 40 characters; the contract has no limit. Names are cut to this length, so that the time to compare is bounded. */
export const MAX_NAME_LENGTH = 120;
/** Words that are compared, and letters in a word: the time to compare two names grows with the product of their lengths. */
const MAX_WORDS = 16;
const MAX_LETTERS = 40;

/** "Dr. B.R. Ambedkar  Konasīma" -> "dr br ambedkar konasima": apostrophes and dots of initials go, other punctuation separates words. */
export const fold = (name: string): string =>
  toLatin(name.slice(0, MAX_NAME_LENGTH))
    .toLowerCase()
    .normalize("NFKD")
    // NFKD may turn one character into eighteen.
    .slice(0, 2 * MAX_NAME_LENGTH)
    .replace(/\p{M}+/gu, "")
    .toLowerCase()
    .replace(/\.(?=\p{L}{2})/gu, " ")
    .replace(/['’`ʼ.]/gu, "")
    .replace(/&/g, " and ")
    .replace(/[^\p{L}\p{N}]+/gu, " ")
    .trim();

/** Words that the Local Government Directory adds to some names and omits from others. */
const GENERIC_WORDS = new Set(["district", "districts", "the"]);

/** Words that lists write in one language or another, abbreviated, or as a number. */
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

/** Splits a folded name into words; generic words are kept only if the name has no other words. */
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

/** Whether a word distinguishes districts of one name: "North", "Rural". */
export const isModifier = (word: string): boolean => MODIFIERS.has(translateWord(word));

/** Initials, in both languages, of a word that distinguishes namesakes: "uttar" -> "u", "n". Empty for other words. */
export const modifierInitials = (word: string): readonly string[] =>
  isModifier(word) ? [...new Set([word.charAt(0), translateWord(word).charAt(0)])] : [];

// Romanizations vary between these spellings. The order matters: longer patterns come first.
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

/** Approximates the sound of a folded word. Most spellings of one Indian name have the same sound. */
export const toSound = (word: string): string =>
  SOUND_RULES.reduce((sound, [pattern, replacement]) => sound.replace(pattern, replacement), word);

interface WordForm {
  readonly text: string;
  readonly sound: string;
}

export interface NameForms {
  /** Two names that share a key are the same name in different notations. */
  readonly keys: readonly string[];
  /** Keys by sound, for names without an established spelling in Latin letters. */
  readonly soundKeys: readonly string[];
  /** The significant words, not translated. */
  readonly ownWords: readonly string[];
  /** The words after synonyms are translated into one language. */
  readonly words: readonly WordForm[];
  /** All words without blanks, because people separate words differently: "Banas Kantha", "Banaskantha". */
  readonly joined: WordForm;
  readonly isIndianScript: boolean;
}

const toWordForm = (text: string): WordForm => ({ text, sound: toSound(text) });

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

/** Letters for directions are also written out: "E Champaran" -> "east champaran". */
export function toQueryForms(name: string): readonly NameForms[] {
  const forms = toNameForms(name);
  const { ownWords } = forms;
  const expandedName = ownWords.map((word) => DIRECTION_LETTERS.get(word) ?? word).join(" ");
  return ownWords.length < 2 || expandedName === ownWords.join(" ") ? [forms] : [forms, toNameForms(expandedName)];
}

/** Whether two names are equal except for case, accents, punctuation, blanks, word order and the language of directions. */
export const isSameName = (a: NameForms, b: NameForms): boolean => a.keys.some((key) => b.keys.includes(key));

export const hasSameSound = (a: NameForms, b: NameForms): boolean => a.joined.sound === b.joined.sound;

export const isPartOf = (part: NameForms, name: NameForms): boolean =>
  part.words.length < name.words.length &&
  part.words.every(({ text }) => name.words.some((word) => word.text === text));

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
/** Words with the same sound score lower than equal words, and short ones lower still, because many of them sound alike. */
const SOUND_WEIGHT = 0.97;
const SHORT_SOUND_WEIGHT = 0.9;
const SHORT_WORD_LETTERS = 6;
/** Minimum score of a complete part of a name; the maximum is 1. */
const PART_SCORE = 0.8;

/** Whether two words differ only by two exchanged neighboring letters, the most common typing error. */
function isTransposition(a: string, b: string): boolean {
  if (a.length !== b.length) return false;
  const at = [...a].findIndex((letter, index) => letter !== b[index]);
  return a[at] === b[at + 1] && a[at + 1] === b[at] && a.slice(at + 2) === b.slice(at + 2);
}

function similarity(a: string, b: string): number {
  // Such a difference in length makes the similarity less than half, which does not count (MIN_WORD_SCORE).
  if (2 * Math.min(a.length, b.length) < Math.max(a.length, b.length)) return 0;
  const edits = distance(a, b);
  return 1 - (edits === 2 && isTransposition(a, b) ? 0.5 : edits) / Math.max(a.length, b.length, 1);
}

/** Similarity of two words, as written or by sound. A prefix of three letters or more also counts. */
function wordSimilarity(query: WordForm, word: WordForm): number {
  if (query.text === word.text) return 1;
  const limit = Math.min(query.text.length, word.text.length) < SHORT_WORD_LETTERS ? SHORT_SOUND_WEIGHT : SOUND_WEIGHT;
  return Math.max(
    similarity(query.text, word.text),
    Math.min(limit, SOUND_WEIGHT * similarity(query.sound, word.sound)),
    query.text.length >= 3 && word.text.startsWith(query.text) ? PART_SCORE : 0,
  );
}

const totalLength = (words: readonly WordForm[]): number => words.reduce((sum, { text }) => sum + text.length, 0);

/** Each word of the query takes the word that fits best. Each other word of the name reduces the score in proportion to the word's share of the name's length. */
function wordListSimilarity(query: readonly WordForm[], words: readonly WordForm[]): number {
  const remaining = [...words];
  let matchedLength = 0;
  for (const word of query) {
    const scores = remaining.map((each) => wordSimilarity(word, each));
    const best = Math.max(0, ...scores);
    // Any two short words are about half similar, so such a score does not count.
    if (best < MIN_WORD_SCORE) continue;
    matchedLength += best * word.text.length;
    remaining.splice(scores.indexOf(best), 1);
  }
  const matched = matchedLength / Math.max(1, totalLength(query));
  const unmatchedShare = totalLength(remaining) / Math.max(1, totalLength(words));
  return matched * (1 - (1 - PART_SCORE) * unmatchedShare);
}

export function nameSimilarity(query: NameForms, name: NameForms): number {
  const joined = wordSimilarity(query.joined, name.joined);
  return Math.min(Math.max(joined, wordListSimilarity(query.words, name.words)), MAX_SIMILARITY);
}
