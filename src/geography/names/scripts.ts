// Names in Indian scripts, written in Latin letters. Nine Unicode blocks run parallel: a letter stands at the same place in
// each, so one table reads all of them.

/** Of each block: where it begins, and how its scribes write. */
interface Script {
  readonly base: number;
  /** A vowel that is not written is not spoken at the end of a word, nor between two syllables that are. */
  readonly dropsInherent?: true;
  /** One letter stands for a voiced stop and for an unvoiced one. */
  readonly voices?: readonly string[];
  readonly own?: ReadonlyMap<number, string>;
}

const TAMIL_STOPS = ["k", "ch", "t", "p"];

/** In the east "ya" is said "ja", unless it has a dot. */
const YA = 0x2f;

const SCRIPTS: readonly Script[] = [
  { base: 0x900, dropsInherent: true }, // Devanagari
  {
    base: 0x980,
    dropsInherent: true,
    own: new Map([
      [YA, "j"],
      [0x4e, "t"],
      [0x70, "r"],
      [0x71, "v"],
    ]),
  }, // Bengali and Assamese
  { base: 0xa00, dropsInherent: true }, // Gurmukhi
  { base: 0xa80, dropsInherent: true }, // Gujarati
  {
    base: 0xb00,
    own: new Map([
      [YA, "j"],
      [0x5f, "y"],
      [0x71, "v"],
    ]),
  }, // Odia
  { base: 0xb80, voices: TAMIL_STOPS, own: new Map([[0x34, "l"]]) }, // Tamil
  { base: 0xc00 }, // Telugu
  { base: 0xc80 }, // Kannada
  {
    base: 0xd00, // Malayalam
    voices: ["t"],
    own: new Map([
      [0x7a, "n"],
      [0x7b, "n"],
      [0x7c, "r"],
      [0x7d, "l"],
      [0x7e, "l"],
      [0x7f, "k"],
    ]),
  },
];

const BLOCK = 0x80;
const FIRST = 0x900;
const LAST = 0xd7f;

const at = (first: number, letters: string): readonly (readonly [number, string])[] =>
  letters.split(" ").map((latin, index) => [first + index, latin]);

const VOWELS = new Map(at(0x05, "a a i i u u ri li e e e ai o o o au"));
const VOWEL_SIGNS = new Map(at(0x3e, "a i i u u ri ri e e e ai o o o au"));
const CONSONANTS = new Map(
  at(0x15, "k kh g gh n ch chh j jh n t th d dh n t th d dh n n p ph b bh m y r r l l zh v sh sh s h"),
);
const NUKTA = 0x3c;
const VIRAMA = 0x4d;
/** Candrabindu, anusvara, and the tippi of Gurmukhi. */
const NASALS = new Set([0x01, 0x02, 0x70]);
const VISARGA = 0x03;
const DIGITS = 0x66;

const WITH_NUKTA: ReadonlyMap<string, string> = new Map([
  ["j", "z"],
  ["d", "r"],
  ["dh", "rh"],
  ["ph", "f"],
  ["s", "sh"],
]);
/** In Odia lists of today the same letter is written so. */
const ODIA = 0xb00;

const VOICED: ReadonlyMap<string, string> = new Map([
  ["k", "g"],
  ["ch", "j"],
  ["t", "d"],
  ["p", "b"],
]);

/** One letter or sign, and what it is to its neighbours. */
interface Sound {
  readonly kind: "consonant" | "vowel" | "inherent" | "nasal" | "other";
  readonly latin: string;
}

const scriptOf = (code: number): Script | undefined =>
  code < FIRST || code > LAST ? undefined : SCRIPTS[Math.floor((code - FIRST) / BLOCK)];

function soundsOf(word: string): { readonly sounds: readonly Sound[]; readonly script: Script | undefined } {
  const sounds: Sound[] = [];
  let script: Script | undefined;
  const letters = [...word.normalize("NFC")];
  for (const [index, letter] of letters.entries()) {
    const code = letter.codePointAt(0) ?? 0;
    const own = scriptOf(code);
    if (own === undefined) {
      sounds.push({ kind: "other", latin: letter });
      continue;
    }
    script ??= own;
    const offset = code - own.base;
    const consonant = own.own?.get(offset) ?? CONSONANTS.get(offset);
    const vowel = VOWELS.get(offset);
    const sign = VOWEL_SIGNS.get(offset);
    const isFinalOnly = offset === 0x4e || offset >= 0x7a;
    const last = sounds.at(-1);
    if (consonant !== undefined) {
      sounds.push({ kind: "consonant", latin: consonant });
      if (!isFinalOnly) sounds.push({ kind: "inherent", latin: "a" });
    } else if (vowel !== undefined) sounds.push({ kind: "vowel", latin: vowel });
    else if (sign !== undefined || offset === VIRAMA) {
      if (last?.kind === "inherent") sounds.pop();
      if (sign !== undefined) sounds.push({ kind: "vowel", latin: sign });
    } else if (offset === NUKTA && last?.kind === "inherent") {
      const before = sounds.at(-2);
      const isYa = letters[index - 1]?.codePointAt(0) === own.base + YA;
      const latin = isYa ? "y" : (own.base !== ODIA && WITH_NUKTA.get(before?.latin ?? "")) || before?.latin;
      if (latin !== undefined) sounds.splice(-2, 1, { kind: "consonant", latin });
    } else if (NASALS.has(offset)) sounds.push({ kind: "nasal", latin: "n" });
    else if (offset === VISARGA) sounds.push({ kind: "consonant", latin: "h" });
    else if (offset >= DIGITS && offset < DIGITS + 10) sounds.push({ kind: "other", latin: String(offset - DIGITS) });
  }
  return { sounds, script };
}

const isVowel = (sound: Sound | undefined): boolean => sound?.kind === "vowel" || sound?.kind === "inherent";

/** Between a spoken syllable and another one, from the end on: "jabalapura" is said "jabalpur". */
function withoutSilent(sounds: readonly Sound[]): readonly Sound[] {
  const spoken = [...sounds];
  const isAfterSyllable = (index: number): boolean =>
    spoken[index - 1]?.kind === "consonant" && (isVowel(spoken[index - 2]) || spoken[index - 2]?.kind === "nasal");
  if (spoken.at(-1)?.kind === "inherent" && spoken.length > 2) spoken.pop();
  for (let index = spoken.length - 2; index > 1; index--) {
    if (spoken[index]?.kind !== "inherent" || !isAfterSyllable(index) || spoken[index - 2]?.kind === "nasal") continue;
    if (spoken[index + 1]?.kind === "consonant" && isVowel(spoken[index + 2])) spoken.splice(index, 1);
  }
  return spoken;
}

const LABIAL = /^[pbm]/;

function spell(sounds: readonly Sound[], voices: readonly string[]): string {
  return sounds
    .map(({ kind, latin }, index) => {
      const [before, after] = [sounds[index - 1], sounds[index + 1]];
      if (kind === "nasal")
        return after === undefined || LABIAL.test(after.latin) ? "m" : after.latin === "h" ? "ng" : "n";
      if (kind !== "consonant" || !voices.includes(latin)) return latin;
      const isDoubled = after?.kind === "consonant" || (before?.kind === "consonant" && !/^[nm]$/.test(before.latin));
      return before === undefined || isDoubled ? latin : (VOICED.get(latin) ?? latin);
    })
    .join("");
}

/** "nagar" is a word of its own wherever it ends a name: its vowels are spoken. */
const NAGAR = ["n", "a", "g", "a", "r", "a"];

function spellWord(word: string): string {
  const { sounds, script } = soundsOf(word);
  const voices = script?.voices ?? [];
  if (script?.dropsInherent !== true) return spell(sounds, voices);
  const isCompound =
    sounds.length > NAGAR.length && NAGAR.every((latin, index) => sounds.at(index - NAGAR.length)?.latin === latin);
  const parts = isCompound ? [sounds.slice(0, -NAGAR.length), sounds.slice(-NAGAR.length)] : [sounds];
  return parts.map((part) => spell(withoutSilent(part), voices)).join("");
}

const INDIAN = /[\u0900-\u0d7f]/u;
const INDIAN_WORDS = /(?:[\u0900-\u0d7f]|\u200c|\u200d)+/gu;
const JOINERS = /\u200c|\u200d/gu;

export const isIndianScript = (text: string): boolean => INDIAN.test(text);

/** The text with its words in Indian scripts in Latin letters; all else as it is. */
export const latinOf = (text: string): string =>
  INDIAN.test(text) ? text.replace(INDIAN_WORDS, (word) => spellWord(word.replace(JOINERS, ""))) : text;

/** Letters that are neither Latin nor of the nine scripts, and no others. */
export const isUnreadable = (text: string): boolean =>
  /\p{L}/u.test(text) && !/[\p{Script=Latin}\u0900-\u0d7f]/u.test(text);
