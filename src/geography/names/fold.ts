// Names as people write them, brought to one form: without case, accents, punctuation; and as they sound.

/** "Dr. B.R. Ambedkar  Konasīma" -> "dr br ambedkar konasima". Dots inside a word's initials join, all else parts words. */
export const fold = (name: string): string =>
  name
    .normalize("NFKD")
    .replace(/\p{M}+/gu, "")
    .toLowerCase()
    .replace(/\.(?=\p{L}{2})/gu, " ")
    .replace(/['’`ʼ.]/gu, "")
    .replace(/&/g, " and ")
    .replace(/[^\p{L}\p{N}]+/gu, " ")
    .trim();

/** What people add to a name and a directory may or may not. */
const GENERIC = new Set(["district", "districts", "dist", "distt", "zilla", "zila", "jilla", "jila", "the"]);

// Words that lists write in either language, or as a number.
const SAME_WORDS: ReadonlyMap<string, string> = new Map([
  ["purba", "east"],
  ["purbi", "east"],
  ["paschim", "west"],
  ["pashchim", "west"],
  ["dakshin", "south"],
  ["dakshina", "south"],
  ["uttar", "north"],
  ["uttara", "north"],
]);

/** The folded words of a name; the generic ones only where nothing else is left. */
export function wordsOf(name: string): readonly string[] {
  const words = fold(name)
    .replace(/\btwenty four\b/, "24")
    .split(" ")
    .map((word) => SAME_WORDS.get(word) ?? word);
  const significant = words.filter((word) => !GENERIC.has(word));
  return significant.length > 0 ? significant : words;
}

// Romanization wavers between these; the order matters: longer ones first.
const SOUNDS: readonly (readonly [RegExp, string])[] = [
  [/aa/g, "a"],
  [/ee|ie|ey/g, "i"],
  [/oo|ou/g, "u"],
  [/au/g, "o"],
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
