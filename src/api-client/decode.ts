// This module decodes a response body: it parses lossless JSON, checks the strict schema, and drops and reports unknown fields.
import { type ParseOptions, parse as parseLossless } from "lossless-json";
import * as z from "zod/v4";
import type { JsonEndpoint } from "../contract/endpoints/endpoint.ts";
import { isJsonObject, jsonPointer } from "../contract/json.ts";
import { excerpt, formatCell, formatToken } from "../core/untrusted-text.ts";

/** The response breaks the contract. The message states where and how. */
export class ContractViolation extends Error {
  override readonly name = "ContractViolation";
}

export interface DecodedBody<T> {
  readonly value: T;
  /**
   * JSON pointers of fields that the contract does not define (open question 10), and descriptions of contradictions (open
   * question 17).
   */
  readonly drift: readonly string[];
}

const INTEGER = /^-?\d+$/;
export const parseNumber = (text: string): number | bigint => {
  const number = Number(text);
  return INTEGER.test(text) && !Number.isSafeInteger(number) ? BigInt(text) : number;
};

const decoder = new TextDecoder("utf-8", { fatal: true });

/** Whether a parsed value contains a number that may have been rounded. Above 2^53-1, no number is certain to be exact. */
function hasRoundedNumber(value: unknown): boolean {
  if (typeof value === "number") return Math.abs(value) > Number.MAX_SAFE_INTEGER;
  if (Array.isArray(value)) return value.some(hasRoundedNumber);
  if (isJsonObject(value))
    // Parsed JSON inherits no fields, and `for … in` allocates no array of their names.
    for (const name in value) if (hasRoundedNumber(value[name])) return true;
  return false;
}

/** Parses with JSON.parse. Returns undefined if the result may differ from the lossless one, because JSON.parse rounds long integers. */
function parseIfExact(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text);
    return hasRoundedNumber(value) ? undefined : value;
  } catch {
    return undefined;
  }
}

/** If two fields have the same name, either parser uses the last one. The contract has no rule for this case. */
const LOSSLESS: ParseOptions = { parseNumber, onDuplicateKey: ({ newValue }) => newValue };

/** Parses UTF-8 JSON. Integers beyond 2^53-1 become bigint. Throws ContractViolation. */
export function parseJson(bytes: Buffer): unknown {
  let text: string;
  try {
    text = decoder.decode(bytes);
  } catch {
    throw new ContractViolation("the body is not valid UTF-8");
  }
  if (text.trim() === "") throw new ContractViolation("the body is empty where JSON was expected");
  const plain = parseIfExact(text);
  if (plain !== undefined) return plain;
  try {
    return parseLossless(text, null, LOSSLESS);
  } catch (error) {
    const reason = error instanceof Error ? error.message : "nested too deep";
    throw new ContractViolation(`the body is not valid JSON: ${excerpt(reason, 200)}`, { cause: error });
  }
}

function dropField(root: unknown, path: readonly PropertyKey[], key: string): void {
  let at = root;
  for (const part of path) at = typeof at === "object" && at !== null ? Reflect.get(at, part) : undefined;
  if (typeof at === "object" && at !== null) Reflect.deleteProperty(at, key);
}

const MAX_LISTED_ISSUES = 5;

/** The generated validator of each schema. It is created on first use, because that takes 1.5 to 3 ms. */
const validators = new WeakMap<z.ZodType, z.ZodType>();

/**
 * Whether a body matches the schema. A matching body is used unchanged, with its fields in the API's order, because no response schema
 * transforms values.
 */
function matchesSchema<S extends z.ZodType>(schema: S, body: unknown): body is z.output<S> {
  const validator = validators.get(schema) ?? z.compile(schema);
  validators.set(schema, validator);
  return z.validate(validator, body);
}

/**
 * Checks a parsed body. Fields unknown to the contract are removed from `body` (in place) and reported as drift. Throws
 * ContractViolation.
 */
export function validateBody<S extends z.ZodType>(schema: S, body: unknown): DecodedBody<z.output<S>> {
  const drift: string[] = [];
  if (matchesSchema(schema, body)) return { value: body, drift };
  for (const issue of schema.safeParse(body).error?.issues ?? []) {
    if (issue.code !== "unrecognized_keys") continue;
    for (const key of issue.keys) {
      drift.push(formatCell(jsonPointer([...issue.path, key])));
      dropField(body, issue.path, key);
    }
  }
  if (drift.length > 0 && matchesSchema(schema, body)) return { value: body, drift };
  const issues = schema.safeParse(body).error?.issues ?? [];
  const named = issues
    .slice(0, MAX_LISTED_ISSUES)
    .map(({ path, message }) => `${path.length === 0 ? "the body" : formatToken(jsonPointer(path))}: ${message}`);
  const more = issues.length - named.length;
  throw new ContractViolation(named.join("; ") + (more > 0 ? `; and ${more} more` : ""));
}

/** Checks the body of a success. Contradictions to the contract's text are added to the drift. Throws ContractViolation. */
export function validateSuccess<S extends z.ZodType>(
  { success }: JsonEndpoint<S>,
  body: unknown,
): DecodedBody<z.output<S>> {
  const { value, drift } = validateBody(success.body, body);
  return { value, drift: [...drift, ...(success.contradictions?.(value) ?? [])] };
}
