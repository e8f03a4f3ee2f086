// How like two names are, 0 to 1: as written, as they sound, word by word. The weights are what `npm run bench:names`
// shows to be good.
import { distance } from "fastest-levenshtein";
import { BoundedMap } from "../../bounded-map.ts";
import { fold, inOneLanguage, soundOf, wordsOf } from "./fold.ts";
import { isIndianScript } from "./scripts.ts";

const MAX_SIMILAR = 0.99;
const MIN_WORD_SCORE = 0.5;
/** Words that sound the same are as good as equal, but not quite. */
const SOUND_WEIGHT = 0.97;
/** Of a short word much sounds the same that is not. */
const SHORT_SOUND = 0.9;
const SHORT_LETTERS = 6;
/** Words of a name that are compared, and letters of a word: comparing two names takes time by the product of both. */
const MAX_WORDS = 16;
const MAX_LETTERS = 40;
/** A part of a name, said whole, is worth this much and up to all of it. */
const PART_SCORE = 0.8;

/** A word, how it sounds, and how without the vowel that Indian scripts do not write. */
interface Form {
  readonly text: string;
  readonly sound: string;
  readonly bare: string;
}

export interface NameForms {
  /** Two names that share one are the same, written otherwise. */
  readonly keys: readonly string[];
  /** The same for what has no spelling in Latin letters: how it sounds. */
  readonly soundKeys: readonly string[];
  /** In one language. */
  readonly words: readonly Form[];
  /** Run together, since people part words as they like: "Banas Kantha", "Banaskantha". */
  readonly run: Form;
  readonly isIndianScript: boolean;
}

function formOf(text: string): Form {
  const sound = soundOf(text);
  return { text, sound, bare: sound.slice(0, 1) + sound.slice(1).replaceAll("a", "") };
}

function makeForms(name: string): NameForms {
  const words = wordsOf(name)
    .slice(0, MAX_WORDS)
    .map((word) => word.slice(0, MAX_LETTERS));
  const translated = inOneLanguage(words);
  const run = words.join("");
  const keys = [fold(name), `run ${run}`, `words ${translated.toSorted().join(" ")}`];
  const forms = { words: translated.map(formOf), run: formOf(run) };
  const sounds = forms.words.map(({ sound }) => sound).toSorted();
  const soundKeys = [`run ${forms.run.sound}`, `words ${sounds.join(" ")}`];
  return { keys, soundKeys, ...forms, isIndianScript: isIndianScript(name) };
}

// The directory's names, and those of the record, are the same from query to query.
const MAX_KEPT = 8192;
const kept = new BoundedMap<string, NameForms>(MAX_KEPT);

export function formsOf(name: string): NameForms {
  const known = kept.get(name);
  if (known !== undefined) return known;
  const forms = makeForms(name);
  kept.set(name, forms);
  return forms;
}

/** One name, but for case, accents, punctuation, blanks, the order of words and the language of directions. */
export const isSameName = (a: NameForms, b: NameForms): boolean => a.keys.some((key) => b.keys.includes(key));

/** Another spelling of one name. */
export const soundsSame = (a: NameForms, b: NameForms): boolean => a.run.sound === b.run.sound;

/** Two neighbouring letters changed places: the commonest slip of a typist. */
function isSwap(a: string, b: string): boolean {
  if (a.length !== b.length) return false;
  const at = [...a].findIndex((letter, index) => letter !== b[index]);
  return a[at] === b[at + 1] && a[at + 1] === b[at] && a.slice(at + 2) === b.slice(at + 2);
}

function likeness(a: string, b: string): number {
  // The difference in length alone makes it less than half: no likeness that counts (MIN_WORD_SCORE).
  if (2 * Math.min(a.length, b.length) < Math.max(a.length, b.length)) return 0;
  const edits = distance(a, b);
  return 1 - (edits === 2 && isSwap(a, b) ? 0.5 : edits) / Math.max(a.length, b.length, 1);
}

/** A word's likeness: as written, or as it sounds. A beginning of three letters or more counts as well. */
function wordLikeness(asked: Form, word: Form, isTransliterated: boolean): number {
  if (asked.text === word.text) return 1;
  const limit = Math.min(asked.text.length, word.text.length) < SHORT_LETTERS ? SHORT_SOUND : SOUND_WEIGHT;
  const sound = Math.min(limit, SOUND_WEIGHT * likeness(asked.sound, word.sound));
  const prefix = asked.text.length >= 3 && word.text.startsWith(asked.text) ? PART_SCORE : 0;
  const isBare = isTransliterated && Math.min(asked.bare.length, word.bare.length) > 2;
  const bare = isBare ? SOUND_WEIGHT * SOUND_WEIGHT * likeness(asked.bare, word.bare) : 0;
  return Math.max(likeness(asked.text, word.text), sound, prefix, bare);
}

const lettersOf = (words: readonly Form[]): number => words.reduce((sum, { text }) => sum + text.length, 0);

/** Each asked word with the word that fits it best; words that were not asked for cost by their length. */
function wordsLikeness(asked: readonly Form[], words: readonly Form[], isTransliterated: boolean): number {
  const left = [...words];
  let hit = 0;
  for (const word of asked) {
    const scores = left.map((each) => wordLikeness(word, each, isTransliterated));
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

/** How like a directory's name is to the one asked for. No likeness is wholly the same. */
export function nameLikeness(asked: NameForms, name: NameForms): number {
  const run = wordLikeness(asked.run, name.run, asked.isIndianScript);
  return Math.min(Math.max(run, wordsLikeness(asked.words, name.words, asked.isIndianScript)), MAX_SIMILAR);
}

/** All of its words are asked for, and others: the asked one is a part of it. */
export const isPartOf = (asked: NameForms, name: NameForms): boolean =>
  asked.words.length < name.words.length &&
  asked.words.every(({ text }) => name.words.some((word) => word.text === text));

/** Pairs of letters, by which names that may be alike are found. */
export function pairsOf({ words, run }: NameForms): ReadonlySet<string> {
  const pairs = new Set<string>();
  for (const { sound } of [run, ...words]) {
    const framed = `^${sound}`;
    for (let index = 0; index < framed.length - 1; index++) pairs.add(framed.slice(index, index + 2));
  }
  return pairs;
}
