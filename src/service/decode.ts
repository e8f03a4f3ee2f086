// An answer's bytes held against the contract: lossless JSON, strict schema, unknown extra fields dropped and named.
import { parse as parseLossless } from "lossless-json";
import type * as z from "zod/v4";
import { excerpt } from "../excerpt.ts";

/** The answer breaks the contract; `problems` name where and how. */
export class ContractViolation extends Error {
  override readonly name = "ContractViolation";
}

export interface Decoded<T> {
  readonly value: T;
  /** JSON pointers of fields that the contract does not know (doubt 10). */
  readonly drift: readonly string[];
}

const INTEGER = /^-?\d+$/;
export const readNumber = (text: string): number | bigint => {
  const number = Number(text);
  return INTEGER.test(text) && !Number.isSafeInteger(number) ? BigInt(text) : number;
};

/** Parses JSON; integers beyond 2^53-1 become bigint. Throws ContractViolation. */
export function parseJson(bytes: Buffer): unknown {
  let text: string;
  try {
    text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw new ContractViolation("the body is not valid UTF-8");
  }
  if (text.trim() === "") throw new ContractViolation("the body is empty where JSON was expected");
  try {
    return parseLossless(text, null, readNumber);
  } catch (error) {
    const reason = error instanceof Error ? error.message : "nested too deep";
    throw new ContractViolation(`the body is not valid JSON: ${excerpt(reason, 200)}`, { cause: error });
  }
}

export const jsonPointer = (path: readonly PropertyKey[]): string =>
  path.map((part) => `/${String(part).replaceAll("~", "~0").replaceAll("/", "~1")}`).join("");

function dropField(root: unknown, path: readonly PropertyKey[], key: string): void {
  let at = root;
  for (const part of path) at = typeof at === "object" && at !== null ? Reflect.get(at, part) : undefined;
  if (typeof at === "object" && at !== null) Reflect.deleteProperty(at, key);
}

const MAX_NAMED = 5;

/** Checks a parsed body. Fields unknown to the contract are removed from `body` (in place) and reported as drift. */
export function checkAgainst<S extends z.ZodType>(schema: S, body: unknown): Decoded<z.output<S>> {
  const first = schema.safeParse(body);
  if (first.success) return { value: first.data, drift: [] };

  const drift: string[] = [];
  for (const issue of first.error.issues) {
    if (issue.code !== "unrecognized_keys") continue;
    for (const key of issue.keys) {
      drift.push(jsonPointer([...issue.path, key]));
      dropField(body, issue.path, key);
    }
  }
  const second = drift.length > 0 ? schema.safeParse(body) : first;
  if (second.success) return { value: second.data, drift };

  const named = second.error.issues
    .slice(0, MAX_NAMED)
    .map(({ path, message }) => `${jsonPointer(path) || "the body"}: ${message}`);
  const more = second.error.issues.length - named.length;
  throw new ContractViolation(named.join("; ") + (more > 0 ? `; and ${more} more` : ""));
}
