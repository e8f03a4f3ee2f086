// Tests that the JSON Schema of each schema is valid as draft 2020-12. object-rules.ts tests that both agree on each field.
import { describe, expect, test } from "vitest";
import * as z from "zod/v4";
import * as bodies from "../../src/contract/endpoints/bodies.ts";
import { endpoints } from "../../src/contract/endpoints/index.ts";
import * as envelopes from "../../src/contract/envelope.ts";
import * as inputs from "../../src/contract/inputs.ts";
import * as jobs from "../../src/contract/jobs.ts";
import * as json from "../../src/contract/json.ts";
import { toJsonSchema } from "../../src/contract/json.ts";
import * as operations from "../../src/contract/operation.ts";
import * as playground from "../../src/contract/playground.ts";
import * as problems from "../../src/contract/problem.ts";
import * as processing from "../../src/contract/processing-requests.ts";
import * as recipes from "../../src/contract/recipes.ts";
import * as instants from "../../src/contract/scalars.ts";
import * as numbers from "../../src/contract/scalars.ts";
import * as text from "../../src/contract/scalars.ts";
import * as usage from "../../src/contract/usage.ts";
import { ajv } from "./object-rules.ts";

const modules = {
  ...{ bodies, envelopes, inputs, instants, jobs, json, numbers, operations, playground, problems },
  ...{ processing, recipes, text, usage },
};

/** Every schema that the contract exports or an endpoint contains. */
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

describe("every schema of the contract", () => {
  test("the exported schemas are found", () => {
    const names = schemas.map(([name]) => name);
    expect(names).toEqual(expect.arrayContaining(["jobs.Job", "text.textKey", "json.jsonObject", "createMicJob body"]));
    expect(names.length).toBeGreaterThan(100);
  });

  test.each(schemas)("%s becomes a valid draft 2020-12 schema", (_, schema) => {
    for (const io of ["input", "output"] as const) {
      const jsonSchema = toJsonSchema(schema, io);
      expect(jsonSchema).not.toHaveProperty("$schema");
      // Compiling validates the schema against the draft's meta-schema, and in strict mode against ajv's additional rules.
      expect(() => ajv.compile(jsonSchema)).not.toThrow();
      expect(JSON.parse(JSON.stringify(jsonSchema))).toEqual(jsonSchema);
    }
  });

  test.each(schemas)("the argument schema of %s has no union, reference or null", (_, schema) => {
    const listing = JSON.stringify(toJsonSchema(schema, "input"));
    expect(listing).not.toMatch(/"(anyOf|oneOf|allOf|not|\$ref|nullable)":|"type":(\[|"null")/);
  });
});
