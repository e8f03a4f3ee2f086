// This module decodes a response body: it parses the JSON, checks the strict schema, and drops and reports unknown fields.
import * as z from "zod/v4";
import type { JsonEndpoint } from "../contract/endpoints/endpoint.ts";
import { jsonPointer } from "../contract/json.ts";
import { excerpt, formatCell, formatToken } from "../core/untrusted-text.ts";
import { MAX_VALUES, type ParsedJson, parseJson } from "./parse-json.ts";

/** The response breaks the contract. The message states where and how. */
export class ContractViolation extends Error {
  override readonly name = "ContractViolation";
}

export interface DecodedBody<T> {
  readonly value: T;
  /** JSON pointers of unknown fields (open question 10), and descriptions of contradictions (open question 17). */
  readonly drift: readonly string[];
}

function dropField(root: unknown, path: readonly PropertyKey[], key: string): void {
  let at = root;
  for (const part of path) at = typeof at === "object" && at !== null ? Reflect.get(at, part) : undefined;
  if (typeof at === "object" && at !== null) Reflect.deleteProperty(at, key);
}

const MAX_LISTED_ISSUES = 5;

/** The generated validator of each schema. It is created on first use, because that takes 1.5 to 3 ms. */
const validators = new WeakMap<z.ZodType, z.ZodType>();

/** A matching body is used unchanged, with its fields in the API's order, because no response schema transforms values. */
function matchesSchema<S extends z.ZodType>(schema: S, body: unknown): body is z.output<S> {
  const validator = validators.get(schema) ?? z.compile(schema);
  validators.set(schema, validator);
  return z.validate(validator, body);
}

/** Maximum number of unknown fields in a response. A page of 100 failed jobs has 10,000 field errors, each of which may have a new field. */
const MAX_UNKNOWN_FIELDS = 10_000;
const MAX_LISTED_NAME = 200;

/** Removes the fields that the contract does not define (in place), and returns their pointers. Throws ContractViolation if there are too many. */
function dropUnknownFields(issues: readonly z.core.$ZodIssue[], body: unknown): string[] {
  const unknown = issues.filter((issue) => issue.code === "unrecognized_keys");
  if (unknown.reduce((sum, { keys }) => sum + keys.length, 0) > MAX_UNKNOWN_FIELDS)
    throw new ContractViolation(`it has more than ${MAX_UNKNOWN_FIELDS} fields that the contract does not define`);
  return unknown.flatMap(({ keys, path }) =>
    keys.map((key) => {
      dropField(body, path, key);
      return formatCell(jsonPointer([...path, excerpt(key, MAX_LISTED_NAME)]));
    }),
  );
}

/** Fields unknown to the contract are removed from the body (in place) and reported as drift. Throws ContractViolation. */
export function validateBody<S extends z.ZodType>(
  schema: S,
  { value: body, values }: ParsedJson,
): DecodedBody<z.output<S>> {
  if (matchesSchema(schema, body)) return { value: body, drift: [] };
  // zod reports every issue, which takes seconds for millions of them.
  if (values > MAX_VALUES) throw new ContractViolation("it does not match, and is too large to find out where");
  const drift = dropUnknownFields(schema.safeParse(body).error?.issues ?? [], body);
  if (drift.length > 0 && matchesSchema(schema, body)) return { value: body, drift };
  const issues = schema.safeParse(body).error?.issues ?? [];
  const named = issues
    .slice(0, MAX_LISTED_ISSUES)
    .map(({ path, message }) => `${path.length === 0 ? "the body" : formatToken(jsonPointer(path))}: ${message}`);
  const more = issues.length - named.length;
  throw new ContractViolation(named.join("; ") + (more > 0 ? `; and ${more} more` : ""));
}

/** Decodes the body of a success. Deviations from the contract's text are reported as drift. Throws InvalidJson or ContractViolation. */
export function decodeSuccess<S extends z.ZodType>(
  { success }: JsonEndpoint<S>,
  bytes: Buffer,
): DecodedBody<z.output<S>> {
  const { value, drift } = validateBody(success.body, parseJson(bytes, success.maxValues));
  return { value, drift: [...drift, ...(success.contradictions?.(value) ?? [])] };
}
