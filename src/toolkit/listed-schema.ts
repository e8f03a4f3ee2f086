// A tool's arguments as tools/list shows them. Every agent pays for it in each session, so it says what an agent needs to write a
// call: not the grammar of what is copied from a result, an id, a cursor, and not what only refuses. All of it is held to.
import type * as z from "zod/v4";
import { isJsonObject } from "../contract/json.ts";
import { type JsonSchema, toJsonSchema } from "../contract/json-schema.ts";
import { WORKSPACE_STYLE_ID } from "../contract/text.ts";

/** As long as an id of the contract, or as a cursor. */
const COPIED_LENGTHS: ReadonlySet<unknown> = new Set([128, 4096]);
const COPIED_PATTERNS: ReadonlySet<unknown> = new Set([WORKSPACE_STYLE_ID.source]);

const isNeeded = (keyword: string, value: unknown): boolean => {
  if (keyword === "minLength") return false;
  if (keyword === "maxLength") return !COPIED_LENGTHS.has(value);
  return !(keyword === "pattern" && COPIED_PATTERNS.has(value));
};

function needed(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(needed);
  if (!isJsonObject(schema)) return schema;
  const kept = Object.entries(schema).filter(([keyword, value]) => isNeeded(keyword, value));
  return Object.fromEntries(kept.map(([keyword, value]) => [keyword, needed(value)]));
}

export function listedSchema(input: z.ZodType): JsonSchema {
  const schema = needed(toJsonSchema(input, "input"));
  return isJsonObject(schema) ? schema : {};
}
