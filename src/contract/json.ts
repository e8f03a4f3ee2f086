// Defines free-form JSON objects, measures JSON, and converts schemas to JSON Schema (docs/contract.md, 2.2 and 4.2).
import * as z from "zod/v4";

/** Any JSON value; integers beyond 2^53-1 are bigint. */
export type Json = null | boolean | number | bigint | string | readonly Json[] | JsonObject;
export interface JsonObject {
  readonly [key: string]: Json;
}

export const isJsonObject = (value: unknown): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Returns the member of an object at a path of names; undefined if there is none. */
export const memberAt = (value: unknown, ...path: readonly string[]): unknown =>
  path.reduce<unknown>((part, name) => (isJsonObject(part) ? part[name] : undefined), value);

/** Returns the value of a JSON text; undefined if the text is not JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Returns the JSON pointer (RFC 6901) of a path of keys and indices; "" is the whole document. */
export const jsonPointer = (path: readonly PropertyKey[]): string =>
  path.map((part) => `/${String(part).replaceAll("~", "~0").replaceAll("/", "~1")}`).join("");

/** Maximum nesting depth. Real data is never deeper, and deeper values would overflow the stack of recursive code (open question 13). */
export const MAX_DEPTH = 500;

function isShallow(value: unknown, depth = 0): boolean {
  if (depth > MAX_DEPTH) return false;
  if (Array.isArray(value)) return value.every((item) => isShallow(item, depth + 1));
  if (isJsonObject(value)) for (const name in value) if (!isShallow(value[name], depth + 1)) return false;
  return true;
}

/** A free-form JSON object, passed through unchanged. (z.record would drop a "__proto__" key.) */
export const jsonObject = z
  .custom<JsonObject>(isJsonObject, { error: "must be a JSON object" })
  .refine((value) => isShallow(value), { error: `must be nested at most ${MAX_DEPTH} deep` })
  .meta({ type: "object", additionalProperties: true });

const encoder = new TextEncoder();
const utf8Bytes = (text: string): number => encoder.encode(text).length;

/** The same as `jsonBytes`, many times slower. A bigint, for which JSON.stringify has no form, is written as a text without its quotes. */
function countJsonBytes(value: unknown): number {
  let quotes = 0;
  const text = JSON.stringify(value, (_name, part: unknown) => {
    if (typeof part !== "bigint") return part;
    quotes += 2;
    return part.toString();
  });
  return utf8Bytes(text) - quotes;
}

/** Returns the size of a value as compact JSON, in UTF-8 bytes. */
export function jsonBytes(value: unknown): number {
  try {
    return utf8Bytes(JSON.stringify(value));
  } catch {
    return countJsonBytes(value);
  }
}

export interface JsonSchema {
  readonly [keyword: string]: unknown;
}

/** Returns a part of a schema; an empty schema if that part is missing or is not an object. */
export const schemaOf = (part: unknown): JsonSchema => (isJsonObject(part) ? part : {});

type Emitted = z.core.JSONSchema.BaseSchema;

/** Some model APIs reject unions, so if null is also accepted, the tool list shows only the other type. */
function removeNullUnion(schema: Emitted): void {
  const [first, second, ...rest] = schema.anyOf ?? [];
  if (first === undefined || typeof first === "boolean" || rest.length > 0) return;
  if (typeof second !== "object" || second.type !== "null") return;
  delete schema.anyOf;
  Object.assign(schema, { ...first, ...schema });
}

/** Custom types set their JSON Schema in `.meta()`; descriptions state the rules that JSON Schema cannot express. */
export function toJsonSchema(schema: z.ZodType, io: "input" | "output"): JsonSchema {
  const { $schema: _, ...rest } = z.toJSONSchema(schema, {
    io,
    unrepresentable: "any",
    ...(io === "input" && { override: ({ jsonSchema }) => removeNullUnion(jsonSchema) }),
  });
  return rest;
}
