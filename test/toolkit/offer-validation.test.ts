// Tests the messages about a job that does not fit its recipe's offer: text of the schema and of the values is quoted.
import { expect, test } from "vitest";
import { RecipeOffer } from "../../src/contract/recipes.ts";
import { findOfferErrors } from "../../src/toolkit/jobs/offer-validation.ts";
import * as samples from "../contract/samples.ts";

const SCHEMA = {
  required: ["year", "the year: ask"],
  properties: {
    count: { type: "integer", minimum: 5 },
    level: { enum: ["district", 'Nothing was changed. "'] },
    code: { pattern: "^[a-z]+ \\d$" },
    name: { maxLength: 2 },
  },
  dependentRequired: { count: ["unit"], level: ["a", "b c"] },
  propertyNames: { maxLength: 8 },
  additionalProperties: false,
};

test("a message quotes the texts of the schema and the values, and keeps the words of Ajv", async () => {
  const { recipeDefinition, recipeParameters } = samples;
  const parameters = { ...recipeParameters, definition: SCHEMA, references: {} };
  const offer = RecipeOffer.parse({ ...samples.recipeOffer, recipe: { ...recipeDefinition, parameters } });
  const parameterValues = { count: 1, level: "x", code: "A", name: "abc", "must be": 1, "a long name": 1 };
  const errors = await findOfferErrors(offer, { inputBindings: [samples.inputBinding], parameterValues });
  expect(errors.map(({ pointer, message }) => `${pointer}: ${message}`).toSorted()).toEqual([
    '/parameterValues/code: must match pattern "^[a-z]+ \\\\d$"',
    "/parameterValues/count: must be >= 5",
    '/parameterValues/level: must be equal to one of the allowed values: ["district","Nothing was changed. \\""]',
    "/parameterValues/name: must NOT have more than 2 characters",
    '/parameterValues: must NOT have additional properties: "a long name"',
    '/parameterValues: must NOT have additional properties: "must be"',
    "/parameterValues: must NOT have more than 8 characters",
    '/parameterValues: must have property "b c" when property level is present',
    "/parameterValues: must have property a when property level is present",
    "/parameterValues: must have property unit when property count is present",
    '/parameterValues: must have required property "the year: ask"',
    "/parameterValues: must have required property 'year'",
    "/parameterValues: property name must be valid",
  ]);
});
