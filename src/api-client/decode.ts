// This module decodes a response body: it parses the JSON, checks the strict schema, and drops and reports unknown fields.
import * as z from "zod/v4";
import type { Endpoint, JsonEndpoint } from "../contract/endpoints/endpoint.ts";
import { isJsonObject, jsonPointer, memberAt } from "../contract/json.ts";
import { UNLISTED_VALUE } from "../contract/scalars.ts";
import { excerpt, formatCell, formatToken, quote } from "../core/untrusted-text.ts";
import { type EncodedRequest, valueInRequest } from "./encode.ts";
import { MAX_VALUES, type ParsedJson, parseJson } from "./parse-json.ts";

/** The response breaks the contract. The message states where and how. */
export class ContractViolation extends Error {
  override readonly name = "ContractViolation";
}

/** The response is about another resource than the request. The message names the field. */
export class OtherResource extends Error {
  override readonly name = "OtherResource";
}

export interface DecodedBody<T> {
  readonly value: T;
  /** JSON pointers of unknown fields (open question 10), unlisted values (41), and descriptions of contradictions (17). */
  readonly drift: readonly string[];
  /** The items of a page that break the contract and are not in `value`: id, if it can be read, and reason. */
  readonly leftOut?: readonly string[];
}

/** Returns the object or list at a path; undefined if there is none. */
function findParent(root: unknown, path: readonly PropertyKey[]): object | undefined {
  let at = root;
  for (const part of path) at = typeof at === "object" && at !== null ? Reflect.get(at, part) : undefined;
  return typeof at === "object" && at !== null ? at : undefined;
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
      const parent = findParent(body, path);
      if (parent) Reflect.deleteProperty(parent, key);
      return formatCell(jsonPointer([...path, excerpt(key, MAX_LISTED_NAME)]));
    }),
  );
}

interface UnlistedValue {
  readonly parent: object;
  readonly key: PropertyKey;
  readonly value: string;
  readonly pointer: string;
}

/** Replaces unlisted values by listed ones (in place), so that the rest can be checked strictly, and returns them. */
function replaceUnlistedValues(issues: readonly z.core.$ZodIssue[], body: unknown): readonly UnlistedValue[] {
  return issues.flatMap((issue) => {
    const key = issue.path.at(-1);
    const parent = findParent(body, issue.path.slice(0, -1));
    if (issue.code !== "invalid_value" || key === undefined || parent === undefined) return [];
    const value: unknown = Reflect.get(parent, key);
    if (typeof value !== "string" || !UNLISTED_VALUE.test(value)) return [];
    Reflect.set(parent, key, issue.values[0]);
    return { parent, key, value, pointer: formatCell(jsonPointer(issue.path)) };
  });
}

const describeIssue = ({ path, message }: z.core.$ZodIssue): string =>
  `${path.length === 0 ? "the body" : formatToken(jsonPointer(path))}: ${message}`;

/** Returns the items of a page; undefined if the body is not a page. */
function itemsOf(body: unknown): unknown[] | undefined {
  const items: unknown = isJsonObject(body) ? body["data"] : undefined;
  return Array.isArray(items) ? items : undefined;
}

/** Removes items (in place), and describes them. `reasons`: by their index. */
const removeItems = (items: unknown[], reasons: ReadonlyMap<number, string>): readonly string[] =>
  [...reasons]
    .sort(([one], [other]) => other - one)
    .map(([index, reason]) => {
      const [item] = items.splice(index, 1);
      const id: unknown = isJsonObject(item) ? item["id"] : undefined;
      return typeof id === "string" ? `${formatToken(excerpt(id, MAX_LISTED_NAME))} (${reason})` : reason;
    })
    .reverse();

/** Removes the items of a page that break the contract (in place), if nothing else of the body does, and describes them. */
function removeBrokenItems(issues: readonly z.core.$ZodIssue[], body: unknown): readonly string[] {
  const items = itemsOf(body);
  const isOfItem = ({ path }: z.core.$ZodIssue): boolean => path[0] === "data" && typeof path[1] === "number";
  if (!items || !issues.every(isOfItem)) return [];
  return removeItems(items, new Map(issues.toReversed().map((issue) => [Number(issue.path[1]), describeIssue(issue)])));
}

/** Fields unknown to the contract are removed from the body (in place) and reported as drift. Throws ContractViolation. */
export function validateBody<S extends z.ZodType>(
  schema: S,
  { value: body, values }: ParsedJson,
): DecodedBody<z.output<S>> {
  if (matchesSchema(schema, body)) return { value: body, drift: [] };
  // zod reports every issue, which takes seconds for millions of them.
  if (values > MAX_VALUES) throw new ContractViolation("it does not match, and is too large to find out where");
  const findIssues = () => schema.safeParse(body).error?.issues ?? [];
  const drift = dropUnknownFields(findIssues(), body);
  const unlisted = replaceUnlistedValues(findIssues(), body);
  // The pointers of the drift count the items that are left out.
  drift.push(...unlisted.map(({ pointer, value }) => `${pointer}: ${value} is not a listed value`));
  const issues = findIssues();
  const leftOut = removeBrokenItems(issues, body);
  const isValid = matchesSchema(schema, body);
  for (const { parent, key, value } of unlisted) Reflect.set(parent, key, value);
  if (isValid) return { value: body, drift, leftOut };
  const more = issues.length - MAX_LISTED_ISSUES;
  throw new ContractViolation(
    issues.slice(0, MAX_LISTED_ISSUES).map(describeIssue).join("; ") + (more > 0 ? `; and ${more} more` : ""),
  );
}

/** Returns a parsed body if it follows the schema, as `validateBody` does; otherwise undefined. */
export function asValidBody<S extends z.ZodType>(schema: S, value: unknown): z.output<S> | undefined {
  try {
    return validateBody(schema, { value, values: 0 }).value;
  } catch (error) {
    if (error instanceof ContractViolation) return undefined;
    throw error;
  }
}

/** A field of a resource that must have the value which the request names. */
interface Echo {
  readonly pointer: string;
  readonly path: readonly string[];
  readonly wanted: unknown;
}

/** Returns the field in which a resource names another value than the request; undefined if there is none. A missing field names none. */
function findOtherValue(echoes: readonly Echo[], resource: unknown): string | undefined {
  for (const { pointer, path, wanted } of echoes) {
    const value = memberAt(resource, ...path);
    const isOther = (typeof value === "string" || value === null) && value !== wanted;
    if (isOther && typeof wanted === "string")
      return `${pointer} is ${value === null ? "null" : quote(excerpt(value, MAX_LISTED_NAME))}, but the request is about ${quote(wanted)}`;
  }
  return undefined;
}

/**
 * Removes the items of a page that are about another resource than the request (in place), and describes them. Throws OtherResource if
 * the body is not a page, and is about another resource.
 */
function checkEchoes(endpoint: Endpoint, encoded: EncodedRequest, body: unknown): readonly string[] {
  if (!endpoint.echoes) return [];
  const echoes = Object.entries(endpoint.echoes).map(([pointer, name]) => ({
    pointer,
    path: pointer.slice(1).split("/"),
    wanted: valueInRequest(endpoint, encoded, name),
  }));
  const items = itemsOf(body);
  if (!items) {
    const reason = findOtherValue(echoes, isJsonObject(body) ? body["data"] : undefined);
    if (reason !== undefined) throw new OtherResource(`/data${reason}`);
    return [];
  }
  const reasons = items.flatMap((resource, index) => {
    const reason = findOtherValue(echoes, resource);
    return reason === undefined ? [] : [[index, `/data/${index}${reason}`] as const];
  });
  return removeItems(items, new Map(reasons));
}

/**
 * Decodes the body of a success. Deviations from the contract's text are reported as drift. Throws InvalidJson, ContractViolation or
 * OtherResource.
 */
export function decodeSuccess<S extends z.ZodType>(
  endpoint: JsonEndpoint<S>,
  encoded: EncodedRequest,
  bytes: Buffer,
): DecodedBody<z.output<S>> {
  const { success } = endpoint;
  const parsed = parseJson(bytes, success.maxValues);
  // Before the schema is checked: an answer to another request shows nothing about an action, even if it also breaks the contract.
  const others = checkEchoes(endpoint, encoded, parsed.value);
  const { value, drift, leftOut = [] } = validateBody(success.body, parsed);
  return {
    value,
    drift: [...drift, ...(success.contradictions?.(value) ?? [])],
    leftOut: [...leftOut, ...others],
  };
}
