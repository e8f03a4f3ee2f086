// Tests parts of recipes that the contract leaves open: the names of ports, and the schema language of parameters.
import { expect, test } from "vitest";
import * as z from "zod/v4";
import * as samples from "../contract/samples.ts";
import { answer } from "../support/stub.ts";
import { sessionForFile } from "./session.ts";

type Json = Readonly<Record<string, unknown>>;

const { createJob, micEnveloped, recipeDefinition, recipeOffer, recipeParameters } = samples;
const { versionId } = recipeDefinition;
const submitted = answer(202, samples.enveloped({ ...samples.job, retryOfBatchId: null }));
const session = sessionForFile();
let submissions = 0;

/** Reads the recipe, then submits a job as an agent does. Returns the result and the bodies that the API received. */
async function submitAfterReading(recipe: Json, changes: Json) {
  const { stub, connection } = session();
  stub.respond(() => submitted);
  // A schema is compiled once for each hash.
  const parameters = { ...Object(recipe["parameters"]), contentHash: String(++submissions).padStart(64, "0") };
  const offered = { ...recipeDefinition, ...recipe, parameters };
  stub.expect(answer(200, micEnveloped({ ...recipeOffer, recipe: offered })));
  const read = await connection.callTool("get_recipe", { versionId });
  expect(read.isError, read.text).toBe(false);
  const before = stub.requests.length;
  const idempotencyKey = `submission-${submissions}`;
  const result = await connection.callTool("submit_job", { ...createJob, ...changes, idempotencyKey });
  const bodies = stub.requests.slice(before).map(({ body }) => z.looseObject({}).parse(JSON.parse(body.toString())));
  return { result, bodies };
}

const anyParameters = { ...recipeParameters, definition: {}, references: {} };
/** Many small inputs, so that the offer stays within its 65,536 bytes. */
const recipeOf = (names: readonly string[]) => ({
  inputs: names.map((name) => ({ ...samples.inputRequirement, name, schema: anyParameters })),
  parameters: anyParameters,
});
const bindingsTo = (ports: readonly string[]) => ports.map((port, index) => ({ port, inputId: `input-${index}` }));
const numbered = (count: number) => Array.from({ length: count }, (_, index) => `port${index}`);

const otherNames: readonly (readonly [what: string, inputs: readonly string[], ports: readonly string[]])[] = [
  ["an input name with a dot", ["table.main"], ["table_main"]],
  ["an input name longer than a port may be", ["n".repeat(81)], ["n".repeat(80)]],
  ["one input name with a dot among others", ["left", "right.side"], ["left"]],
  ["100 inputs of which one is bound", numbered(100), ["port7"]],
];

for (const [what, inputs, ports] of otherNames)
  test(`for a recipe with ${what}, the server sends the job as the agent wrote it`, {
    tags: ["4.2/assumes-no-port-names"],
  }, async () => {
    const inputBindings = bindingsTo(ports);
    const { result, bodies } = await submitAfterReading(recipeOf(inputs), { inputBindings });
    expect(result.isError, result.text).toBe(false);
    expect(bodies).toMatchObject([{ inputBindings }]);
  });

test("the server refuses an unknown or missing port before sending if all input names are possible ports and all can be bound", {
  tags: ["4.2/assumes-no-port-names", "4.2/job-input-binding-port"],
}, async () => {
  for (const inputs of [["left", "right"], numbered(32), ["n".repeat(80)]]) {
    const missing = { inputBindings: bindingsTo([...inputs.slice(1), "other"]) };
    const { result, bodies } = await submitAfterReading(recipeOf(inputs), missing);
    expect(result.error).toMatchObject({ kind: "invalid_arguments", sideEffect: "none" });
    expect(result.error?.fieldErrors?.map(({ code }) => code)).toEqual(["UNKNOWN_PORT", "MISSING_PORT"]);
    expect(bodies).toEqual([]);
  }
});

const DRAFT = "http://json-schema.org/draft-07/schema#";
const DIALECT = "https://json-schema.org/draft/2020-12/schema";

/** A definition with its references, and values that are valid in its own language. */
const otherLanguages: readonly (readonly [what: string, parameters: Json, values: Json])[] = [
  [
    "draft-07, which ignores the siblings of $ref",
    {
      definition: {
        $schema: DRAFT,
        properties: { name: { $ref: "#/definitions/s", minLength: 5 } },
        definitions: { s: { type: "string" } },
      },
    },
    { name: "ab" },
  ],
  ["a schema language of the API's own", { definition: { $schema: "urn:mic:form:3", required: ["a"] } }, {}],
  ["a $schema that is not a string", { definition: { $schema: { id: 3 }, required: ["a"] } }, {}],
  [
    "a draft-07 reference",
    { definition: { $ref: "one" }, references: { one: { $schema: DRAFT, required: ["a"] } } },
    {},
  ],
  ["no schema at all", { definition: { type: "form", required: true, fields: [{ name: "year" }] } }, { year: 1 }],
  ["a reference to another machine", { definition: { $ref: "https://schemas.example/form.json" } }, { year: 1 }],
];

for (const [what, parameters, parameterValues] of otherLanguages)
  test(`for a definition with ${what}, the server leaves the check of the values to the API`, {
    tags: ["2.2/assumes-no-schema-language"],
  }, async () => {
    const recipe = { parameters: { ...recipeParameters, references: {}, ...parameters } };
    const { result, bodies } = await submitAfterReading(recipe, { parameterValues });
    expect(result.isError, result.text).toBe(false);
    expect(bodies).toMatchObject([{ parameterValues }]);
  });

test("the server checks values before sending if the definition names JSON Schema 2020-12 or no language", {
  tags: ["2.2/assumes-no-schema-language", "4.2/job-parameter-values"],
}, async () => {
  const schema = { properties: { name: { $ref: "#/$defs/s", minLength: 5 } }, $defs: { s: { type: "string" } } };
  for (const named of [{}, { $schema: DIALECT }, { $schema: `${DIALECT}#` }]) {
    const recipe = { parameters: { ...recipeParameters, definition: { ...named, ...schema }, references: {} } };
    const { result, bodies } = await submitAfterReading(recipe, { parameterValues: { name: "ab" } });
    expect(result.error).toMatchObject({ kind: "invalid_arguments", sideEffect: "none" });
    expect(result.error?.fieldErrors).toMatchObject([{ pointer: "/parameterValues/name", code: "MINLENGTH" }]);
    expect(bodies).toEqual([]);
  }
});
