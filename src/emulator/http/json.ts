// A strict reader of request bodies. JSON.parse keeps the last of two equal keys; this one refuses them (RFC 8259, section 4,
// calls the outcome unpredictable), and nesting beyond the given depth, and numbers that are no finite double.

export class JsonError extends Error {
  override readonly name = "JsonError";
}

const SPACE = /[ \t\n\r]*/y;
const NUMBER = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/y;
// biome-ignore lint/suspicious/noControlCharactersInRegex: JSON forbids them unescaped within strings.
const STRING = /"(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"/y;
const LITERALS: readonly (readonly [string, boolean | null])[] = [
  ["true", true],
  ["false", false],
  ["null", null],
];

class JsonReader {
  readonly #text: string;
  readonly #maxDepth: number;
  #at = 0;

  constructor(text: string, maxDepth: number) {
    this.#text = text;
    this.#maxDepth = maxDepth;
  }

  document(): unknown {
    const value = this.#value(0);
    this.#take(SPACE);
    if (this.#at < this.#text.length) throw this.#unexpected();
    return value;
  }

  #value(depth: number): unknown {
    this.#take(SPACE);
    const first = this.#text[this.#at];
    if (first === "{" || first === "[") {
      if (depth >= this.#maxDepth) throw new JsonError(`nested deeper than ${this.#maxDepth} levels`);
      this.#at += 1;
      return first === "{" ? this.#object(depth + 1) : this.#array(depth + 1);
    }
    if (first === '"') return this.#string();
    for (const [word, value] of LITERALS) {
      if (!this.#text.startsWith(word, this.#at)) continue;
      this.#at += word.length;
      return value;
    }
    return this.#number();
  }

  #object(depth: number): object {
    const object = {};
    if (this.#next("}")) return object;
    do {
      this.#take(SPACE);
      const key = this.#string();
      if (Object.hasOwn(object, key)) throw new JsonError(`the key ${JSON.stringify(key.slice(0, 80))} stands twice`);
      if (!this.#next(":")) throw this.#unexpected();
      const value = this.#value(depth);
      // Not an assignment: "__proto__" is a key like any other.
      Object.defineProperty(object, key, { value, enumerable: true, configurable: true, writable: true });
    } while (this.#next(","));
    if (!this.#next("}")) throw this.#unexpected();
    return object;
  }

  #array(depth: number): unknown[] {
    const array: unknown[] = [];
    if (this.#next("]")) return array;
    do array.push(this.#value(depth));
    while (this.#next(","));
    if (!this.#next("]")) throw this.#unexpected();
    return array;
  }

  #string(): string {
    const quoted = this.#take(STRING);
    if (quoted === "") throw this.#unexpected();
    return String(JSON.parse(quoted));
  }

  #number(): number {
    const digits = this.#take(NUMBER);
    const value = Number(digits);
    if (digits === "") throw this.#unexpected();
    if (!Number.isFinite(value)) throw new JsonError("a number is too large");
    return value;
  }

  #next(char: string): boolean {
    this.#take(SPACE);
    if (this.#text[this.#at] !== char) return false;
    this.#at += 1;
    return true;
  }

  #take(pattern: RegExp): string {
    pattern.lastIndex = this.#at;
    const found = pattern.exec(this.#text)?.[0] ?? "";
    this.#at += found.length;
    return found;
  }

  #unexpected(): JsonError {
    return new JsonError(
      this.#at < this.#text.length ? `unexpected character at offset ${this.#at}` : "the text ends too early",
    );
  }
}

/** The value a body holds; throws JsonError. The bytes must be UTF-8 without a byte order mark. */
export function readJson(bytes: Uint8Array, maxDepth: number): unknown {
  let text: string;
  try {
    text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new JsonError("the bytes are not UTF-8");
  }
  return new JsonReader(text, maxDepth).document();
}
