// The JSON of a request's body: the media type is checked, its bytes must be UTF-8 and its numbers finite.
import { parse } from "lossless-json";

export class JsonError extends Error {
  override readonly name = "JsonError";
}

const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

function finiteNumber(digits: string): number {
  const value = Number(digits);
  if (!Number.isFinite(value)) throw new JsonError("a number is too large");
  return value;
}

/** The value a body holds; throws JsonError. The bytes must be UTF-8 without a byte order mark. */
export function readJson(bytes: Uint8Array): unknown {
  let text: string;
  try {
    text = decoder.decode(bytes);
  } catch {
    throw new JsonError("the bytes are not UTF-8");
  }
  try {
    return parse(text, null, finiteNumber);
  } catch (error) {
    // A RangeError: no stack is deep enough for it.
    throw new JsonError(
      error instanceof SyntaxError || error instanceof JsonError ? error.message : "it is nested too deep",
    );
  }
}

/** Whether `value` is this media type, without parameters other than charset=utf-8 (RFC 9110, 8.3.1). */
export function isMediaType(value: string, expected: string): boolean {
  const [type = "", ...parameters] = value.split(";").map((part) => part.trim().toLowerCase());
  return type === expected && parameters.every((parameter) => /^(|charset=("?)utf-8\2)$/.test(parameter));
}
