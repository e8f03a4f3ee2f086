// Only this module formats untrusted text (from the API, a client or this machine) for the server's own texts. Untrusted text
// stays on its line and in its cell, and is quoted if it could be mistaken for the server's own words.

/** Scripts of India (Arabic for Urdu) whose words may need a joiner (ZWJ, ZWNJ) after a letter or a mark. */
const INDIC_SCRIPTS =
  "\\p{Script=Devanagari}\\p{Script=Bengali}\\p{Script=Gurmukhi}\\p{Script=Gujarati}\\p{Script=Oriya}\\p{Script=Tamil}" +
  "\\p{Script=Telugu}\\p{Script=Kannada}\\p{Script=Malayalam}\\p{Script=Arabic}";
const MISPLACED_JOINER = `(?<!(?=[\\p{L}\\p{M}])[${INDIC_SCRIPTS}])[\\u200c\\u200d]`;
// Control characters (C0, DEL, C1 with NEL), line and paragraph separators, lone surrogates, and invisible characters that affect a
// model or a terminal. The latter are bidi controls, zero-width characters, soft hyphens, fillers, variation selectors and tags.
const OTHER_UNSAFE =
  "(?![\\u200c\\u200d])[\\p{Cc}\\p{Cf}\\p{Zl}\\p{Zp}\\p{Surrogate}\\p{Default_Ignorable_Code_Point}]";
const UNSAFE = new RegExp(`${MISPLACED_JOINER}|${OTHER_UNSAFE}`, "u");
const ALL_UNSAFE = new RegExp(UNSAFE, "gu");

/** Most texts match, and this test is much faster than the other one. */
const VISIBLE_ASCII = /^[\x20-\x7e]*$/;

const isSafe = (text: string): boolean => VISIBLE_ASCII.test(text) || !UNSAFE.test(text);

const escapeUnit = (unit: number): string => `\\u${unit.toString(16).padStart(4, "0")}`;

/** Escapes a character as in JSON, with two escapes beyond U+FFFF. */
const escapeCharacter = (character: string): string =>
  escapeUnit(character.charCodeAt(0)) + (character.length === 1 ? "" : escapeUnit(character.charCodeAt(1)));

/** Replaces invisible characters, and those that break the line or its direction, by JSON escapes, which keep the value of JSON text. */
export const escapeText = (text: string): string => (isSafe(text) ? text : text.replace(ALL_UNSAFE, escapeCharacter));

/** Formats a value as compact JSON within a sentence. */
export const formatJson = (value: unknown): string => escapeText(JSON.stringify(value));

/** Escapes JSON text of one or more lines. Its value does not change. */
export const escapeJson = (text: string): string => text.split("\n").map(escapeText).join("\n");

/** Returns at most `max` characters. Cuts at the end of a word, because redaction would not recognize a part of a secret. */
export function excerpt(text: string, max: number): string {
  if (text.length <= max) return text;
  const lastSpace = text.slice(0, max + 1).search(/\s\S*$/);
  return `${text.slice(0, Math.max(0, lastSpace))}…`;
}

const MAX_QUOTED = 300;

/** Quotes free text within a sentence. */
export const quote = (text: string, max = MAX_QUOTED): string => formatJson(excerpt(text, max));

// Labels and sentences end with a colon or a period, so a code must not.
const CODE = /^[A-Za-z0-9_.:/+~-]*[A-Za-z0-9_/+~-]$/;
// Capitalized words, as in names of places. Calls and sentences do not have this form.
const NAME = /^[A-Z][A-Za-z0-9'-]*(?: (?:&|and|of|the|[A-Z][A-Za-z0-9'-]*))*$/;
const MAX_NAME = 60;

/** Whether a text has the form of an id, a code, a pointer, an instant or a number. */
export const isCode = (text: string): boolean => CODE.test(text);

const isName = (text: string): boolean => text.length <= MAX_NAME && NAME.test(text);

/** Formats an id, a code, a pointer or a name within a sentence: unchanged if it has an ordinary form, else quoted. */
export function formatToken(text: string, max = MAX_QUOTED): string {
  const isOrdinary = isCode(text) ? text.length <= max : isName(text);
  return isOrdinary ? text : quote(text, max);
}

/** Formats a table cell: unchanged if it is empty, an id, a list of ids or a name; otherwise the text as a JSON string, never cut. */
export const formatCell = (text: string): string =>
  text === "" || isName(text) || text.split(", ").every(isCode) ? text : formatJson(text);

// Words without the punctuation of a sentence or a call. Allowed are initials ("Y.S.R. Kadapa") and a part in parentheses at the end.
const TITLE_WORD = "(?:[A-Za-z0-9&'-]+|(?:[A-Z]\\.)+[A-Z]?|Dr\\.)";
const TITLE_WORDS = `${TITLE_WORD}(?:,? ${TITLE_WORD})*`;
const TITLE = new RegExp(`^${TITLE_WORDS}(?: ?\\(${TITLE_WORDS}\\))?$`);

/** Formats a cell in a column of names or titles, in which a phrase without punctuation is also unchanged. */
export const formatTitleCell = (text: string): string =>
  text.length <= MAX_NAME && TITLE.test(text) ? text : formatCell(text);
