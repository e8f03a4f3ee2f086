// This module parses a JSON body exactly and in bounded time. One response must not block the event loop, which all calls share.
import { isUtf8 } from "node:buffer";
import { parse as parseLossless } from "lossless-json";
import { MAX_DEPTH } from "../contract/json.ts";

/** The body is not JSON, or it is too expensive to parse. The message states the reason. */
export class InvalidJson extends Error {
  override readonly name = "InvalidJson";
}

/** No conforming body has a longer number: a double has at most 309 digits before the point. Parsing an integer of 15 MB takes 8 s. */
const MAX_NUMBER_LENGTH = 1_000;
/** The resources of the contract have at most five levels above a free-form object. */
const MAX_BODY_DEPTH = MAX_DEPTH + 10;
/** Objects, lists, texts, numbers, booleans and nulls. A page of 100 failed jobs has 48,000, and may have 10,000 new fields. */
export const MAX_VALUES = 60_000;
/** An integer that JSON.parse would round is parsed twice. It counts as one value per 2 digits: that many values fit in its place. */
const DIGITS_PER_VALUE = 2;

/** The characters of a number: digits, + - . E e. */
const isNumberPart = (code: number): boolean =>
  (code >= 48 && code <= 57) || code === 43 || code === 45 || code === 46 || code === 69 || code === 101;

/** Returns the index of the quotation mark that ends the string which starts at `start`. */
function endOfString(text: string, start: number): number {
  for (let at = text.indexOf('"', start + 1); at !== -1; at = text.indexOf('"', at + 1)) {
    let from = at;
    while (text.charCodeAt(from - 1) === 92) from--;
    // Each second backslash is a character of the text.
    if ((at - from) % 2 === 0) return at;
  }
  return text.length;
}

/** Returns the index after the number that starts at `start`. Throws InvalidJson if it is too long. */
function endOfNumber(text: string, start: number): number {
  let at = start + 1;
  while (isNumberPart(text.charCodeAt(at))) {
    at++;
    if (at - start > MAX_NUMBER_LENGTH)
      throw new InvalidJson(`the body has a number of more than ${MAX_NUMBER_LENGTH} digits`);
  }
  return at;
}

/** The shortest integer that a double cannot hold exactly has 16 digits. */
const MIN_ROUNDED_LENGTH = 16;

const isRoundedInteger = (number: string): boolean => /^-?\d+$/.test(number) && !Number.isSafeInteger(Number(number));

/** Returns an integer beyond 2^53-1 as a bigint. */
export const parseExactNumber = (number: string): number | bigint =>
  isRoundedInteger(number) ? BigInt(number) : Number(number);

/**
 * Counts the values in one pass, without memory for them, and finds out whether JSON.parse would round an integer. Invalid JSON is left to
 * JSON.parse. Throws InvalidJson if the text exceeds a bound.
 */
function scanJson(text: string, maxValues: number): { readonly values: number; readonly isRounded: boolean } {
  let [values, depth, isRounded] = [0, 0, false];
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === 34) {
      values++;
      at = endOfString(text, at);
    } else if (code === 45 || (code >= 48 && code <= 57)) {
      values++;
      const end = endOfNumber(text, at);
      if (end - at >= MIN_ROUNDED_LENGTH && isRoundedInteger(text.slice(at, end))) {
        isRounded = true;
        values += Math.ceil((end - at) / DIGITS_PER_VALUE) - 1;
      }
      at = end - 1;
    } else if (code === 91 || code === 123) {
      values++;
      depth++;
      if (depth > MAX_BODY_DEPTH) throw new InvalidJson(`the body is nested more than ${MAX_BODY_DEPTH} deep`);
    } else if (code === 93 || code === 125) depth--;
    // The first letter of true, false and null.
    else if (code === 116 || code === 102 || code === 110) values++;
    // The string before a colon is a name.
    else if (code === 58) values--;
    if (values > maxValues) throw new InvalidJson(`the body has more than ${maxValues} values`);
  }
  return { values, isRounded };
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    // The parser's message quotes the body, so it is not used.
    throw new InvalidJson("the body is not valid JSON", { cause: error });
  }
}

export interface ParsedJson {
  readonly value: unknown;
  /** Number of values in `value`, itself included. Long integers count more. */
  readonly values: number;
}

/** Parses UTF-8 JSON. Integers beyond 2^53-1 become bigint. Throws InvalidJson. */
export function parseJson(bytes: Buffer, maxValues = MAX_VALUES): ParsedJson {
  if (!isUtf8(bytes)) throw new InvalidJson("the body is not valid UTF-8");
  const text = bytes.toString().replace(/^\ufeff/, "");
  if (text.trim() === "") throw new InvalidJson("the body is empty where JSON was expected");
  const { values, isRounded } = scanJson(text, maxValues);
  const value = parse(text);
  if (!isRounded) return { value, values };
  return {
    value: parseLossless(text, null, { parseNumber: parseExactNumber, onDuplicateKey: ({ newValue }) => newValue }),
    values,
  };
}
