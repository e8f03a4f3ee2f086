// The contract's schemas as JSON Schema 2020-12: what tools advertise and what the emulator's OpenAPI document is made of.
import * as z from "zod/v4";

export interface JsonSchema {
  readonly [keyword: string]: unknown;
}

type Emitted = z.core.JSONSchema.BaseSchema;

/** Some model APIs refuse unions: where null is also taken, a listing says the other type only. */
function removeNullUnion(schema: Emitted): void {
  const [first, second, ...rest] = schema.anyOf ?? [];
  if (first === undefined || typeof first === "boolean" || rest.length > 0) return;
  if (typeof second !== "object" || second.type !== "null") return;
  delete schema.anyOf;
  Object.assign(schema, { ...first, ...schema });
}

/** Custom types say their JSON Schema in `.meta()`; rules JSON Schema cannot say stand in descriptions. */
export function toJsonSchema(schema: z.ZodType, io: "input" | "output"): JsonSchema {
  const { $schema: _, ...rest } = z.toJSONSchema(schema, {
    io,
    unrepresentable: "any",
    ...(io === "input" && { override: ({ jsonSchema }) => removeNullUnion(jsonSchema) }),
  });
  return rest;
}
