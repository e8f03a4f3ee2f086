// This module converts the contract's schemas to JSON Schema 2020-12, for the tool list and the emulator's OpenAPI document.
import * as z from "zod/v4";
import { isJsonObject } from "./json.ts";

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

/** Converts a schema. Custom types set their JSON Schema in `.meta()`; descriptions state the rules that JSON Schema cannot express. */
export function toJsonSchema(schema: z.ZodType, io: "input" | "output"): JsonSchema {
  const { $schema: _, ...rest } = z.toJSONSchema(schema, {
    io,
    unrepresentable: "any",
    ...(io === "input" && { override: ({ jsonSchema }) => removeNullUnion(jsonSchema) }),
  });
  return rest;
}
