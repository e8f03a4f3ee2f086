// Tests that the JSON Schema of each schema is valid as draft 2020-12. object-rules.ts tests that both agree on each field.
import { readdirSync } from "node:fs";
import { expect, test } from "vitest";
import * as z from "zod/v4";
import { endpoints } from "../../src/contract/endpoints/index.ts";
import { toJsonSchema } from "../../src/contract/json.ts";
import { ajv } from "./object-rules.ts";

const CONTRACT = new URL("../../src/contract/", import.meta.url);
const modules: Readonly<Record<string, object>> = Object.fromEntries(
  await Promise.all(
    [...readdirSync(CONTRACT), "endpoints/bodies.ts"]
      .filter((file) => file.endsWith(".ts"))
      .map(async (file) => [file.replace(".ts", ""), await import(new URL(file, CONTRACT).href)] as const),
  ),
);

const schemas: readonly (readonly [string, z.ZodType])[] = [
  ...Object.entries(modules).flatMap(([moduleName, members]) =>
    Object.entries(members).map(([name, member]: [string, unknown]) => [`${moduleName}.${name}`, member] as const),
  ),
  ...endpoints.flatMap(({ id, query, pathParameters, body, success }) =>
    Object.entries({ query, pathParameters, body, success: success.body }).map(
      ([name, member]) => [`${id} ${name}`, member] as const,
    ),
  ),
].flatMap(([name, member]) => (member instanceof z.ZodType ? [[name, member] as const] : []));

test.each(schemas)(
  "%s becomes a valid draft 2020-12 schema, and as an argument schema contains no union and no null",
  (_, schema) => {
    for (const io of ["input", "output"] as const) {
      const jsonSchema = toJsonSchema(schema, io);
      expect(jsonSchema).not.toHaveProperty("$schema");
      // Compiling validates the schema against the draft's meta-schema, and in strict mode against ajv's additional rules.
      expect(() => ajv.compile(jsonSchema)).not.toThrow();
      expect(JSON.parse(JSON.stringify(jsonSchema))).toEqual(jsonSchema);
    }
    const listing = JSON.stringify(toJsonSchema(schema, "input"));
    expect(listing).not.toMatch(/"(anyOf|oneOf|allOf|not|\$ref|nullable)":|"type":(\[|"null")/);
  },
);
