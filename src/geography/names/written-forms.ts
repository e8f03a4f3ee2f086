// Reads the forms in which files and reports write names: numbers and marks beside a name, and a second name in brackets or after a
// separator. A new form is a change of a table in this file.
import { toNameForms } from "./name-forms.ts";

/** Marks of tables and lists. A number of one or two digits in one of them is a footnote or a row number, and never an LGD code. */
const MARKS: readonly RegExp[] = [
  /[¹²³⁰⁴-⁹]+/gu,
  /[[［]\s*\p{Nd}{1,2}\s*[\]］]/gu,
  /[#*^†‡§]+(?:\s*\p{Nd}{1,2}(?![\p{L}\p{Nd}]))?/gu,
  /^\s*[(（]?\p{Nd}{1,2}\s*[.)）](?!\p{Nd})/gu,
  /(?<=[\p{L}\p{M}])\p{Nd}{1,2}(?![\p{L}\p{Nd}])/gu,
];
/** A number beside a name, with the words that announce it. */
const NUMBER = /(?:(?<!\p{L})(?:lgd|code|no|district)[\s.:=]+)*(?<!\p{Nd})(\p{Nd}+)(?![\p{L}\p{Nd}])/giu;
const EMPTY_BRACKETS = /[([{（［][^\p{L}\p{N}]*[)\]}）］]/gu;
const OUTER_PUNCTUATION = /^[^\p{L}\p{N}\p{M}([{（［]+|[^\p{L}\p{N}\p{M}.)\]}）］]+$/gu;
/** A second name in brackets; the closing bracket may be missing. Brackets in brackets have texts of their own. */
const BRACKETS = /[([{（［]([^()[\]{}（）［］]*)(?:[)\]}）］]+|(?=[([{（［])|$)/gu;
/** Separators of two names of one place. A comma is not one of them, because it precedes a state. */
const ALIAS_SEPARATOR = /\s*[/|=]\s*|\s+(?:alias|aka|formerly|erstwhile|urf|now|previously|or)\s+/iu;
/** Separators of the names and codes of one state. */
const STATE_SEPARATOR =
  /\s*[()[\]{}（）［］,;:/|=]\s*|\s+[-–—]\s+|\s+(?:alias|aka|formerly|erstwhile|now|previously)\s+/iu;
const COUNTRY = /^(?:india|bharat|in)$/iu;

/** A separator of names of which either may be meant. */
const CHOICE = /\sor\s/iu;

export interface MarkedName {
  /** The text without numbers and marks; the text itself if it has none. Empty if it is only a number. */
  readonly text: string;
  /** Numbers that may be LGD codes, without leading zeros. */
  readonly codes: readonly string[];
}

/** "212 - Patna" -> "Patna" and 212; "Patna[1]" -> "Patna". The number in "North 24 Parganas" is a part of the name. */
export function separateMarks(query: string): MarkedName {
  if (!/[\p{N}#*^†‡§]/u.test(query)) return { text: query, codes: [] };
  const unmarked = MARKS.reduce((text, mark) => text.replace(mark, " "), query);
  const isNumberedName = toNameForms(unmarked).words.some(({ text }) => text === "parganas");
  const codes: string[] = [];
  const named = unmarked.replace(NUMBER, (all, digits: string) => {
    if (isNumberedName && digits.length === 2) return all;
    codes.push(digits.replace(/^0+(?=\d)/, ""));
    return " ";
  });
  const text = named.replace(EMPTY_BRACKETS, " ").replace(OUTER_PUNCTUATION, "").trim();
  return { text, codes };
}

export interface NameParts {
  /** The text outside brackets. */
  readonly names: readonly string[];
  /** The texts in brackets: another name, a part of the name, the state, or a comment. */
  readonly inBrackets: readonly string[];
  /** Whether the names may be those of several places: "Raigad or Raigarh". */
  readonly isChoice: boolean;
}

/** "Barwani (Badwani), MP" -> "Barwani , MP" and "Badwani"; "Barwani/Badwani" -> two names. Undefined if there is only one text. */
export function separateNames(text: string): NameParts | undefined {
  const inBrackets = [...text.matchAll(BRACKETS)].map(([, inner = ""]) => inner.trim());
  const names = text.replace(BRACKETS, " ").replace(/\s+/gu, " ").split(ALIAS_SEPARATOR);
  const hasName = (part: string): boolean => /\p{L}/u.test(part);
  const parts = {
    names: names.map((name) => name.trim()).filter(hasName),
    inBrackets: inBrackets.filter(hasName),
    isChoice: CHOICE.test(text),
  };
  return parts.names.length === 0 || parts.names.length + parts.inBrackets.length < 2 ? undefined : parts;
}

/** "Bihar (BR)" -> "Bihar" and "BR"; "10 - Bihar" -> "Bihar" and "10", without the name of the country. */
export function separateStateParts(text: string): readonly string[] {
  const marked = separateMarks(text);
  const parts = marked.text.split(STATE_SEPARATOR).filter((part) => /[\p{L}\p{N}]/u.test(part) && !COUNTRY.test(part));
  return [...parts, ...marked.codes];
}
