// Text from outside (the service, a client, this machine) is data wherever it stands in a text of ours: it stays on its
// line and in its cell, and is quoted where it could be taken for our own words. The one place that knows how.
import { excerpt } from "./excerpt.ts";

// Control characters (C0, DEL, C1 with NEL), line and paragraph separators, bidi controls, lone surrogates.
const UNSAFE = /[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}\p{Surrogate}]/u;
const ALL_UNSAFE = new RegExp(UNSAFE, "gu");

/** Whether a text stays on its line and in its direction as it is. */
export const isOnOneLine = (text: string): boolean => !UNSAFE.test(text);

const inEscape = (character: string): string => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;

/** On one line, in one direction: each such character as a JSON escape. JSON so written still says the same. */
export const escaped = (text: string): string => (isOnOneLine(text) ? text : text.replace(ALL_UNSAFE, inEscape));

/** Compact JSON within a text. */
export const json = (value: unknown): string => escaped(JSON.stringify(value));

const MAX_QUOTED = 300;

/** Free text within a sentence. */
export const quote = (text: string, max = MAX_QUOTED): string => json(excerpt(text, max));

const CODE = /^[A-Za-z0-9_.:/-]+$/;
// Capitalized words, as places have them: no call and no sentence is spelt so.
const NAME = /^[A-Z][A-Za-z0-9'-]*(?: (?:&|and|of|the|[A-Z][A-Za-z0-9'-]*))*$/;
const MAX_NAME = 60;

/** An id, a code, a pointer or a name within a sentence: as it is where it is an ordinary one, else quoted. */
export function word(text: string, max = MAX_QUOTED): string {
  const isOrdinary = CODE.test(text) ? text.length <= max : text.length <= MAX_NAME && NAME.test(text);
  return isOrdinary ? text : quote(text, max);
}
