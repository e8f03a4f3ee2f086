// Texts for readers: an agent, or a person at a terminal. A text stays a list of parts until it is rendered for its reader. This module
// quotes untrusted text within texts, and only this module looks into a text.
import { TOOL_NAMES, type ToolName } from "./tool-names.ts";
import { escapeText, formatJson, formatToken, quote } from "./untrusted-text.ts";

/** A part of a text. Only this module creates parts. */
export type Part =
  /** The program's own words. */
  | { readonly own: string }
  /** Other text, in its quoted form. */
  | { readonly data: string }
  /** The program's own words, in a form for each reader. */
  | { readonly agent: string; readonly terminal: string }
  /** A call of a tool. */
  | { readonly tool: ToolName; readonly args: Readonly<Record<string, unknown>> };

export type Text = readonly Part[];

/** `undefined` and `false` add nothing, and a string is data. */
export type Interpolated = Text | Part | string | number | bigint | undefined | false;

/** A literal type. A computed string, which may contain untrusted text, is not accepted as the program's own words. */
type Literal<T extends string> = string extends T ? never : T;

const isText = (value: Text | Part): value is Text => Array.isArray(value);

function toParts(value: Interpolated): Text {
  if (value === undefined || value === false) return [];
  if (typeof value === "object") return isText(value) ? value : [value];
  return [{ data: formatToken(String(value)) }];
}

/**
 * Makes a text of one or more sentences. An interpolated string is an id, a code or a name, and is quoted unless it has the form of one.
 *
 * @example
 * say`Job ${jobId} is ${state}. ${call("retry_job", { jobId })} retries it. Its title is ${quoted(title)}.`;
 */
export function say(words: TemplateStringsArray, ...values: readonly Interpolated[]): Text {
  const text: Part[] = [];
  for (const [index, own] of words.entries()) {
    if (own !== "") text.push({ own });
    text.push(...toParts(values[index]));
  }
  return text;
}

/** Own words that depend on a condition: `own(isLast ? "the last page" : "a page")`. */
export const own = <const T extends string>(words: Literal<T>): Part => ({ own: words });

/** Words of a definition without data, such as the description of a tool. */
export const fixed = (words: string): Text => [{ own: words }];

/** Untrusted text in quotation marks, at most `max` characters (default 300). */
export const quoted = (text: string, max?: number): Part => ({ data: quote(text, max) });

/** Text of this machine in its own form: an error of the operating system, a path, a command. */
export const raw = (text: string): Part => ({ data: escapeText(text) });

export const json = (value: unknown): Part => ({ data: formatJson(value) });

/** A call of a tool. A sentence with a call is omitted if the tool is not offered. */
export const call = (tool: ToolName, args: Readonly<Record<string, unknown>>): Part => ({ tool, args });

/** The same words for two readers. */
export const forReader = <const A extends string, const T extends string>(
  agent: Literal<A>,
  terminal: Literal<T>,
): Part => ({ agent, terminal });

/** "Ask the user to check" for an agent, "Check" for a person. */
export const ask = <const V extends string>(verb: Literal<V>): Part => ({
  agent: `Ask the user to ${verb.charAt(0).toLowerCase()}${verb.slice(1)}`,
  terminal: `${verb.charAt(0).toUpperCase()}${verb.slice(1)}`,
});

/** How to call again under this key. */
export const withKey = (key: string): Text => [
  forReader("pass idempotencyKey ", "add idempotencyKey="),
  { data: formatToken(key) },
];

/** Joins texts. Empty ones are left out. */
export const join = <const S extends string = " ">(texts: readonly Interpolated[], separator?: Literal<S>): Text => {
  const between: Part = { own: separator ?? " " };
  const full = texts.map(toParts).filter(({ length }) => length > 0);
  return full.flatMap((text, index) => (index === 0 ? text : [between, ...text]));
};

/** Returns the text with its data changed, but not the program's own words. */
export const mapData = (text: Text, change: (data: string) => string): Text =>
  text.map((part) => ("data" in part ? { data: change(part.data) } : part));

/** Whether a text already shows this code, in quotation marks or without. */
export const shows = (text: Text, code: string): boolean =>
  text.some((part) => "data" in part && (part.data === formatToken(code) || part.data === quote(code)));

/** Who reads a rendered text. */
export interface Reader {
  /** Whether a text may name this tool. */
  isOffered(tool: string): boolean;
  readonly isTerminal: boolean;
  formatCall(tool: ToolName, args: Readonly<Record<string, unknown>>): string;
}

/** An agent that is offered all tools. */
export const AGENT: Reader = {
  isOffered: () => true,
  isTerminal: false,
  formatCall: (tool, args) => `${tool} ${formatJson(args)}`,
};

const TOOL_NAME = new RegExp(`\\b(?:${TOOL_NAMES.join("|")})\\b`, "g");

/** The names of tools in the program's own words. */
export const toolNamesIn = (words: string): readonly string[] => words.match(TOOL_NAME) ?? [];

/** A person calls a tool with a command. */
const nameTools = (words: string, { formatCall }: Reader): string =>
  words.replace(TOOL_NAME, (name) => {
    const tool = TOOL_NAMES.find((each) => each === name);
    return tool === undefined ? name : formatCall(tool, {});
  });

/** The program's own words for this reader; undefined for data and calls. */
function wordsOf(part: Part, { isTerminal }: Reader): string | undefined {
  if ("own" in part) return part.own;
  return "agent" in part ? part[isTerminal ? "terminal" : "agent"] : undefined;
}

function renderPart(part: Part, reader: Reader): string {
  if ("data" in part) return part.data;
  if ("tool" in part) return reader.formatCall(part.tool, part.args);
  const words = wordsOf(part, reader) ?? "";
  return reader.isTerminal ? nameTools(words, reader) : words;
}

const renderParts = (text: Text, reader: Reader): string =>
  text.reduce((rendered, part) => rendered + renderPart(part, reader), "");

/** The names of all tools contain an underscore, which is found much faster. */
const wordsNameOnlyOffered = (words: string, { isOffered }: Reader): boolean =>
  !words.includes("_") || toolNamesIn(words).every(isOffered);

const namesOnlyOffered = (text: Text, reader: Reader): boolean =>
  text.every((part) =>
    "tool" in part ? reader.isOffered(part.tool) : wordsNameOnlyOffered(wordsOf(part, reader) ?? "", reader),
  );

/** Splits a text where the program's own words end a sentence. */
function splitSentences(text: Text, reader: Reader): readonly Text[] {
  const sentences: Part[][] = [];
  let sentence: Part[] = [];
  let words = "";
  function endWords(): void {
    const [first = "", ...others] = words.split(/(?<=\.) /);
    sentence.push({ own: first });
    for (const other of others) {
      sentences.push(sentence);
      sentence = [{ own: other }];
    }
    words = "";
  }
  for (const part of text) {
    const own = wordsOf(part, reader);
    if (own !== undefined) words += own;
    else {
      endWords();
      sentence.push(part);
    }
  }
  endWords();
  return [...sentences, sentence];
}

/** Renders a text for its reader. Omits each sentence that names a tool which is not offered, so a text states its facts in other sentences. */
export function render(text: Text, reader: Reader): string {
  if (namesOnlyOffered(text, reader)) return renderParts(text, reader);
  const offered = splitSentences(text, reader).filter((sentence) => namesOnlyOffered(sentence, reader));
  const rendered = offered.map((sentence) => renderParts(sentence, reader));
  return rendered.filter((sentence) => sentence !== "").join(" ");
}
