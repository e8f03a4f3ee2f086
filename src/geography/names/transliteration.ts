// Transliterates names in nine Indian scripts to Latin letters, by way of Devanagari: a letter has the same position in each Unicode block.

/** How the pronunciation of a script differs from a letter-by-letter reading; an empty entry means no difference. */
interface ScriptRules {
  /** The inherent vowel is silent at the end of a word and between two spoken syllables. */
  readonly dropsInherent?: true;
  /** Letters that represent both an unvoiced and a voiced stop, with the letter of the voiced one. */
  readonly voiced?: ReadonlyMap<string, string>;
}

const FIRST_CODE_POINT = 0x900;
const BLOCK_SIZE = 0x80;

/** Rules by Unicode block: Devanagari, Bengali, Gurmukhi, Gujarati, Odia, Tamil, Telugu, Kannada, Malayalam. */
const SCRIPT_RULES: readonly ScriptRules[] = [
  { dropsInherent: true },
  { dropsInherent: true },
  { dropsInherent: true },
  { dropsInherent: true },
  {},
  { voiced: new Map(Object.entries({ क: "ग", च: "ज", ट: "ड", त: "द", प: "ब" })) },
  {},
  {},
  { voiced: new Map(Object.entries({ ट: "ड", त: "द" })) },
];

/** In the eastern scripts, "ya" is pronounced "ja" unless it has a dot. */
const EASTERN_YA = /[\u09af\u0b2f][\u09bc\u0b3c]/gu;
/** Letters whose position does not match their sound. Current lists write Odia letters without their dot. */
const LETTER_EXCEPTIONS: ReadonlyMap<string, string> = new Map(
  Object.entries({
    "\u09af": "ज",
    "\u09ce": "त्",
    "\u09f0": "र",
    "\u09f1": "व",
    "\u0a70": "ं",
    "\u0b2f": "ज",
    "\u0b3c": "",
    "\u0b71": "व",
    "\u0bb4": "ल",
    "\u0d7a": "न्",
    "\u0d7b": "न्",
    "\u0d7c": "र्",
    "\u0d7d": "ल्",
    "\u0d7e": "ल्",
    "\u0d7f": "क्",
  }),
);

/** Letters that a dot below changes, with the letters that they become. */
const NUKTA_LETTERS: ReadonlyMap<string, string> = new Map(
  Object.entries({ ज: "\u095b", ड: "\u095c", द: "\u095c", ढ: "\u095d", ध: "\u095d", फ: "\u095e", स: "श" }),
);

const letterRange = (first: number, letters: string): readonly (readonly [string, string])[] =>
  letters.split(" ").map((latin, index) => [String.fromCodePoint(first + index), latin]);

/** The inherent vowel of a consonant, made explicit. */
const INHERENT = "ə";
const LATIN: ReadonlyMap<string, string> = new Map([
  [INHERENT, "a"],
  ["ः", "h"],
  ...letterRange(0x905, "a a i i u u ri li e e e ai o o o au"),
  ...letterRange(0x915, "k kh g gh n ch chh j jh n t th d dh n t th d dh n n p ph b bh m y r r l l zh v sh sh s h"),
  ...letterRange(0x93e, "a i i u u ri ri e e e ai o o o au"),
  ...letterRange(0x958, "k kh g z r rh f y"),
  ...letterRange(0x966, "0 1 2 3 4 5 6 7 8 9"),
]);

const CONSONANT = "[\u0915-\u0939\u0958-\u095f\u0903]";
const VOWEL = `[${INHERENT}\u0905-\u0914\u093e-\u094c]`;

const BARE_CONSONANT = /([\u0915-\u0939\u0958-\u095f])(?![\u093e-\u094d])/gu;
const LAST_INHERENT = new RegExp(`(?<=..)${INHERENT}$`, "u");
/** Applied to the reversed word, so that the second of two consecutive silent vowels is removed. */
const MIDDLE_INHERENT = new RegExp(`(${VOWEL}${CONSONANT})${INHERENT}(?=${CONSONANT}${VOWEL})`, "gu");
/** Stops that follow a vowel or a nasal and do not precede a consonant. */
const VOICEABLE = new RegExp(`(?<=${VOWEL}|[ँंङञणनऩम])[कचटतप](?!${CONSONANT})`, "gu");
/** "nagar" at the end of a name is a separate word, so its vowels are pronounced. */
const NAGAR = new RegExp(`(?<=.)(?=न[${INHERENT}ा]ग[${INHERENT}ा]र[${INHERENT}ा]$)`, "u");

/** "gaon" (village) at the end of a name has several spellings: "गांव", "गाव", "গাঁও". */
const GAON = /गा[ँं]?(?:व|ओ)$/u;

const reverse = (text: string): string => [...text].reverse().join("");

/** "jabalapura" is pronounced "jabalpur". */
const dropSilentVowels = (word: string): string =>
  reverse(reverse(word.replace(LAST_INHERENT, "")).replace(MIDDLE_INHERENT, "$1"));

const toDevanagari = (letter: string): string =>
  LETTER_EXCEPTIONS.get(letter) ??
  String.fromCodePoint(
    FIRST_CODE_POINT + (((letter.codePointAt(0) ?? FIRST_CODE_POINT) - FIRST_CODE_POINT) % BLOCK_SIZE),
  );

function transliterateWord(word: string): string {
  const { dropsInherent, voiced } =
    SCRIPT_RULES[Math.floor(((word.codePointAt(0) ?? FIRST_CODE_POINT) - FIRST_CODE_POINT) / BLOCK_SIZE)] ?? {};
  const letters = word
    .normalize("NFC")
    .replace(EASTERN_YA, "य")
    .replace(/[\u0980-\u0d7f]/gu, toDevanagari)
    .replace(/(.)\u093c/gu, (_, letter: string) => NUKTA_LETTERS.get(letter) ?? letter)
    .replace(BARE_CONSONANT, `$1${INHERENT}`)
    .replace(/\u094d/gu, "");
  const spoken = dropsInherent ? letters.split(NAGAR).map(dropSilentVowels).join("") : letters;
  const voicedLetters = voiced ? spoken.replace(VOICEABLE, (letter) => voiced.get(letter) ?? letter) : spoken;
  return voicedLetters
    .replace(GAON, "गाओन")
    .replace(/[ँं](?=$|[पफबभम])/gu, "म")
    .replace(/[ँं](?=[हः])/gu, "नग")
    .replace(/[ँं]/gu, "न")
    .replace(/[\u0900-\u0d7f]|ə/gu, (letter) => LATIN.get(letter) ?? "");
}

const INDIAN = /[\u0900-\u0d7f]/u;
const INDIAN_WORDS = /(?:[\u0900-\u0d7f]|\u200c|\u200d)+/gu;
const JOINERS = /\u200c|\u200d/gu;

export const isIndianScript = (text: string): boolean => INDIAN.test(text);

/** Transliterates words in Indian scripts to Latin letters and leaves the rest of the text unchanged. */
export const toLatin = (text: string): string =>
  INDIAN.test(text) ? text.replace(INDIAN_WORDS, (word) => transliterateWord(word.replace(JOINERS, ""))) : text;

/** Whether the text contains letters, none of which is Latin or from the nine scripts. */
export const isUnsupportedScript = (text: string): boolean =>
  /\p{L}/u.test(text) && !/[\p{Script=Latin}\u0900-\u0d7f]/u.test(text);
