// The JSON Schema made of a schema: valid as draft 2020-12, and of one mind with the schema.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import * as z from "zod/v4";
import * as bodies from "../../src/contract/endpoints/bodies.ts";
import { endpoints } from "../../src/contract/endpoints/index.ts";
import * as envelopes from "../../src/contract/envelope.ts";
import * as inputs from "../../src/contract/inputs.ts";
import * as instants from "../../src/contract/instants.ts";
import * as jobs from "../../src/contract/jobs.ts";
import * as json from "../../src/contract/json.ts";
import { toJsonSchema } from "../../src/contract/json-schema.ts";
import * as numbers from "../../src/contract/numbers.ts";
import * as operations from "../../src/contract/operation.ts";
import * as playground from "../../src/contract/playground.ts";
import * as problems from "../../src/contract/problem.ts";
import * as processing from "../../src/contract/processing-requests.ts";
import * as recipes from "../../src/contract/recipes.ts";
import * as text from "../../src/contract/text.ts";
import * as usage from "../../src/contract/usage.ts";
import { runs } from "../support/thorough.ts";
import { ajv, changeAt } from "./object-rules.ts";
import * as samples from "./samples.ts";

const modules = {
  ...{ bodies, envelopes, inputs, instants, jobs, json, numbers, operations, playground, problems },
  ...{ processing, recipes, text, usage },
};

/** Every schema that the contract exports, and every one that an endpoint holds. */
const schemas: readonly (readonly [string, z.ZodType])[] = [
  ...Object.entries(modules).flatMap(([room, members]) =>
    Object.entries(members).map(([name, member]: [string, unknown]) => [`${room}.${name}`, member] as const),
  ),
  ...endpoints.flatMap(({ id, query, pathParameters, body, success }) =>
    Object.entries({ query, pathParameters, body, success: success.body }).map(
      ([name, member]) => [`${id} ${name}`, member] as const,
    ),
  ),
].flatMap(([name, member]) => (member instanceof z.ZodType ? [[name, member] as const] : []));

describe("every schema of the contract", () => {
  test("is found", () => {
    const names = schemas.map(([name]) => name);
    expect(names).toEqual(expect.arrayContaining(["jobs.Job", "text.textKey", "json.jsonObject", "createMicJob body"]));
    expect(names.length).toBeGreaterThan(100);
  });

  test.each(schemas)("%s becomes a valid draft 2020-12 schema", (_, schema) => {
    for (const io of ["input", "output"] as const) {
      const jsonSchema = toJsonSchema(schema, io);
      expect(jsonSchema).not.toHaveProperty("$schema");
      // Compiling holds the schema against the draft's own schema first, and in strict mode against ajv's taste.
      expect(() => ajv.compile(jsonSchema)).not.toThrow();
      expect(JSON.parse(JSON.stringify(jsonSchema))).toEqual(jsonSchema);
    }
  });

  test.each(schemas)("%s is listed as arguments without a union, a reference or a null", (_, schema) => {
    const listing = JSON.stringify(toJsonSchema(schema, "input"));
    expect(listing).not.toMatch(/"(anyOf|oneOf|allOf|not|\$ref|nullable)":|"type":(\[|"null")/);
  });
});

const pairs = [
  ["StatesResponse", playground.StatesResponse, samples.statesResponse],
  ["DistrictsResponse", playground.DistrictsResponse, samples.districtsResponse],
  ["PlaygroundError", playground.PlaygroundError, samples.playgroundError],
  ["Problem", problems.Problem, samples.problem],
  ["Job", jobs.Job, samples.job],
  ["Input", inputs.Input, samples.input],
  ["ProcessingRequest", processing.ProcessingRequest, samples.processingRequest],
  ["Operation", operations.Operation, samples.operation],
  ["RecipeOffer", recipes.RecipeOffer, samples.recipeOffer],
  ["UsageSummary", usage.UsageSummary, samples.usageSummary],
  ["CapabilitySet", usage.CapabilitySet, samples.capabilitySet],
  ["job list", envelopes.jobPage(jobs.Job), samples.jobList],
  ["recipe list", envelopes.recipePage(recipes.RecipeOffer), samples.recipeList],
  ["CreateJob", bodies.CreateJob, samples.createJob],
  ["CreateInput", bodies.CreateInput, samples.createInput],
  ["CreateProcessingRequest", bodies.CreateProcessingRequest, samples.createProcessingRequest],
  ["CancelJob", bodies.CancelJob, samples.cancelJob],
  ["RetryJob", bodies.RetryJob, samples.retryJob],
] as const;

/** The paths of everything inside a value. */
function pathsIn(value: unknown): readonly (readonly string[])[] {
  if (typeof value !== "object" || value === null) return [[]];
  return [[], ...Object.entries(value).flatMap(([key, part]) => pathsIn(part).map((path) => [key, ...path]))];
}

function valueAt(value: unknown, path: readonly string[]): unknown {
  return path.reduce<unknown>((whole, key) => Object.entries(whole ?? {}).find(([name]) => name === key)?.[1], value);
}

/** A valid value with one part replaced: by another part of it, by an edited string or number, or by any JSON. */
function changed(sample: unknown): fc.Arbitrary<unknown> {
  const path = fc.constantFrom(...pathsIn(sample));
  const edited = (part: unknown): fc.Arbitrary<unknown> => {
    if (typeof part === "number") return fc.constantFrom(part + 1, -part, part + 0.5, String(part), 1e15, 2 ** 53);
    if (typeof part !== "string") return fc.jsonValue({ maxDepth: 1 });
    return fc
      .tuple(fc.nat(part.length), fc.constantFrom("", "a", "Z", "0", "😀", ":", " ", "x".repeat(200)))
      .map(([at, splice]) => part.slice(0, at) + splice + part.slice(at + 1));
  };
  return path.chain((at) =>
    fc
      .oneof(
        edited(valueAt(sample, at)),
        path.map((other) => valueAt(sample, other)),
        fc.jsonValue({ maxDepth: 1 }),
      )
      .map((part) => changeAt(sample, at, () => part)),
  );
}

test.each(pairs)("%s and its JSON Schema agree", (_, schema, sample) => {
  const allows = ajv.compile(toJsonSchema(schema, "output"));
  const lists = ajv.compile(toJsonSchema(schema, "input"));
  fc.assert(
    fc.property(changed(sample), (value) => {
      const result = schema.safeParse(value);
      if (lists(value)) expect(allows(value)).toBe(true);
      if (result.success) expect(allows(value), ajv.errorsText(allows.errors)).toBe(true);
      // A rule that JSON Schema has no word for is a refinement, whose issues are "custom".
      else if (allows(value)) expect(new Set(result.error.issues.map(({ code }) => code))).toEqual(new Set(["custom"]));
    }),
    { numRuns: runs(50, 200) },
  );
});
