// Tests what the tables of docs/contract.md do not show as fields: the size of an offer, the OpenAPI document, and the playground's errors.
import { expect, test } from "vitest";
import * as playground from "../../src/contract/playground.ts";
import { RecipeOffer } from "../../src/contract/recipes.ts";
import { createCheck } from "./check.ts";
import * as samples from "./samples.ts";

test("a RecipeOffer has at most 65,536 bytes in UTF-8, including the digits of bigints", {
  tags: ["2.2/offer-projection-size"],
}, () => {
  const withDefinition = (definition: unknown) => ({
    ...samples.recipeOffer,
    recipe: { ...samples.recipeDefinition, parameters: { ...samples.recipeParameters, definition } },
  });
  const spare = 65536 - Buffer.byteLength(JSON.stringify(withDefinition({ pad: "" })), "utf8");
  const accepts = (definition: unknown) => RecipeOffer.safeParse(withDefinition(definition)).success;
  expect([-1, 0, 1].map((more) => accepts({ pad: "x".repeat(spare + more) }))).toEqual([true, true, false]);
  const emoji = Math.floor(spare / 4);
  expect([0, 1].map((more) => accepts({ pad: "😀".repeat(emoji + more) }))).toEqual([true, false]);
  const big = 9223372036854775807n;
  const rest = spare - ',"big":9223372036854775807'.length;
  expect([0, 1].map((more) => accepts({ pad: "x".repeat(rest + more), big }))).toEqual([true, false]);
});

test("the OpenAPI document requires its three fields and accepts others", { tags: ["4.1/openapi"] }, () => {
  const document = { ...samples.openApiDocument, components: { schemas: {} }, security: [] };
  expect(playground.OpenApiDocument.parse(document)).toEqual(document);
  for (const name of ["openapi", "info", "paths"])
    for (const wrong of [undefined, null, [], 1, "3.1.0"])
      expect(playground.OpenApiDocument.safeParse({ ...document, [name]: wrong }).success).toBe(false);
});

test("a PlaygroundError has one status code per HTTP status, and nothing else", { tags: ["7.1/body"] }, () => {
  const codes = Object.values(playground.PLAYGROUND_STATUS);
  expect(playground.PLAYGROUND_STATUS).toEqual({
    400: "INVALID_PLAYGROUND_REQUEST",
    403: "PLAYGROUND_REQUEST_DENIED",
    429: "PLAYGROUND_RATE_LIMITED",
    502: "PLAYGROUND_UPSTREAM_UNAVAILABLE",
  });
  const { accepts, refuses } = createCheck(playground.PlaygroundError);
  expect(codes.flatMap((status) => accepts({ status }))).toEqual([]);
  for (const status of ["UNKNOWN", "", null, 400, codes]) expect(refuses({ status }, ["status"])).toEqual([]);
  for (const other of [{}, { status: codes[0], extra: 1 }]) expect(refuses(other, [])).toEqual([]);
});

test("a Retry-After is an integer >= 1", { tags: ["7.1/retry-after"] }, () => {
  const accepts = (value: unknown) => playground.RetryAfter.safeParse(value).success;
  expect(["1", "60", "120"].filter((value) => !accepts(value))).toEqual([]);
  expect(["", "0", "-1", "01", "1.5", " 1", "1s", "soon", 1, null].filter(accepts)).toEqual([]);
});
