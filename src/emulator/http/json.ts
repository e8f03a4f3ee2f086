// The JSON of a request's body, strictly: its bytes are UTF-8 and its numbers are finite.
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
