// Free-form JSON objects and their size, service.md section 2.2 (RecipeParameters) and 4.2 (parameterValues).
import * as z from "zod/v4";

/** Any JSON value; integers beyond 2^53-1 arrive as bigint. */
export type Json = null | boolean | number | bigint | string | readonly Json[] | JsonObject;
export interface JsonObject {
  readonly [key: string]: Json;
}

export const isJsonObject = (value: unknown): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** A free-form JSON object, passed through untouched. (z.record would drop a "__proto__" key.) */
export const jsonObject = z
  .custom<JsonObject>(isJsonObject, { error: "must be a JSON object" })
  .meta({ type: "object", additionalProperties: true });

/** UTF-8 bytes of a value as compact JSON. */
export function jsonBytes(value: unknown): number {
  let quotes = 0;
  const text = JSON.stringify(value, (_key, part: unknown) => {
    if (typeof part !== "bigint") return part;
    quotes += 2;
    return part.toString();
  });
  return new TextEncoder().encode(text).length - quotes;
}
