// The contract's schemas as JSON Schema 2020-12: what tools advertise and what the emulator's OpenAPI document is made of.
import * as z from "zod/v4";

export interface JsonSchema {
  readonly [keyword: string]: unknown;
}

/** Custom types say their JSON Schema in `.meta()`; rules JSON Schema cannot say stand in descriptions. */
export function toJsonSchema(schema: z.ZodType, io: "input" | "output"): JsonSchema {
  const { $schema: _, ...rest } = z.toJSONSchema(schema, { io, unrepresentable: "any" });
  return rest;
}
