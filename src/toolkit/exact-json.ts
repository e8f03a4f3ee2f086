// Parses the JSON text of arguments without loss: JSON.parse silently replaces a number that no double represents by another one.
import { isSafeNumber, LosslessNumber, parse } from "lossless-json";

/** A number with more than 15 digits or an exponent: no other can lose a digit. A match inside a string only costs time. */
const MAY_LOSE = /(?:^|[[:,\s])-?(?:\d[\d.]{15}|[\d.]+[eE])/;

const parseNumber = (text: string) => (isSafeNumber(text) ? Number(text) : new LosslessNumber(text));

/**
 * Parses valid JSON like JSON.parse, but a number is a LosslessNumber if it is beyond 2^53-1 in magnitude, or if the shortest decimal of
 * its double is another value (open question 18). Returns undefined if the text has no number with many digits or an exponent.
 */
export const parseLossy = (json: string): unknown =>
  MAY_LOSE.test(json) ? parse(json, null, { parseNumber, onDuplicateKey: ({ newValue }) => newValue }) : undefined;

/** Returns the value of a JSON text, with a LosslessNumber where JSON.parse could lose digits; undefined if the text is not JSON. */
export function parseExactJson(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text);
    return parseLossy(text) ?? value;
  } catch {
    return undefined;
  }
}
