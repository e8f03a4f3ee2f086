import { describe, expect, test } from "vitest";
import { InputRequirement, RecipeDefinition, RecipeOffer, RecipeParameters } from "../../src/contract/recipes.ts";
import { proves } from "../proves.ts";
import {
  alphanumeric,
  constant,
  dateTime,
  decimalVersion,
  freeFormObject,
  hex64,
  list,
  object,
  oneOf,
  onlyFalse,
  prefixedHex32,
  text,
  workspaceStyleId,
} from "./field-rules.ts";
import { objectUnderTest } from "./object-rules.ts";
import * as samples from "./samples.ts";

const freeForm = ["definition", "references"];

describe("RecipeOffer", () => {
  const { proves } = objectUnderTest(RecipeOffer, samples.recipeOffer, { freeForm });
  proves(["2.2/all-fields-required", "2.2/closed-objects"], "has exactly its fields");
  proves(["2.2/offer-id", "2.2/hex"], { id: prefixedHex32("micoffer_") });
  proves(["2.2/workspace-style-workspace-id", "2.2/workspace-style-id"], { workspaceId: workspaceStyleId });
  proves("2.2/sandbox-environment", { environment: constant("SANDBOX") });
  proves("2.2/offer-resource-version", { resourceVersion: decimalVersion });
  proves("2.2/offer-recipe", { recipe: object(samples.recipeDefinition) });
  proves("1/offers-reference-only", { availability: constant("REVIEWED_REFERENCE"), executionAvailable: onlyFalse });
  proves(["2.2/offer-dates", "2.2/date-time"], { approvedAt: dateTime, expiresAt: dateTime });
});

describe("the size of an offer", () => {
  const withDefinition = (definition: unknown) => ({
    ...samples.recipeOffer,
    recipe: { ...samples.recipeDefinition, parameters: { ...samples.recipeParameters, definition } },
  });
  const bytes = (value: unknown) => Buffer.byteLength(JSON.stringify(value), "utf8");
  const spare = 65536 - bytes(withDefinition({ pad: "" }));
  const accepts = (value: unknown) => RecipeOffer.safeParse(value).success;

  proves("2.2/offer-projection-size", "65535 and 65536 bytes are accepted, 65537 refused", () => {
    const sized = [spare - 1, spare, spare + 1].map((length) => withDefinition({ pad: "x".repeat(length) }));
    expect(sized.map(bytes)).toEqual([65535, 65536, 65537]);
    expect(sized.map(accepts)).toEqual([true, true, false]);
  });

  proves("2.2/offer-projection-size", "bytes are UTF-8, whatever the number of characters", () => {
    const emoji = Math.floor(spare / 4);
    expect(accepts(withDefinition({ pad: "😀".repeat(emoji) }))).toBe(true);
    expect(accepts(withDefinition({ pad: "😀".repeat(emoji + 1) }))).toBe(false);
  });

  proves("2.2/offer-projection-size", "a bigint counts its digits", () => {
    const big = 9223372036854775807n;
    const padded = (length: number) => withDefinition({ pad: "x".repeat(length), big });
    const room = spare - ',"big":9223372036854775807'.length;
    expect([padded(room), padded(room + 1)].map(accepts)).toEqual([true, false]);
  });
});

describe("RecipeDefinition", () => {
  const { proves } = objectUnderTest(RecipeDefinition, samples.recipeDefinition, { freeForm });
  proves(["2.2/all-fields-required", "2.2/closed-objects"], "has exactly its fields");
  proves(["2.2/recipe-ids", "2.2/hex"], { recipeId: prefixedHex32("micrecipe_") });
  proves("2.2/recipe-ids", { versionId: prefixedHex32("micrecipev_") });
  proves("2.2/recipe-version-hash", { versionHash: hex64 });
  proves("2.2/recipe-name", { name: text(1, 160) });
  proves("2.2/recipe-inputs", { inputs: list(1, 100, () => samples.inputRequirement) });
  proves("2.2/recipe-parameters", { parameters: object(samples.recipeParameters) });
  proves("2.2/recipe-required-permissions", { requiredPermissions: list(0, 200, (index) => `part:${index}`) });
  proves("2.2/recipe-required-permissions", "requiredPermissions are unique", {
    requiredPermissions: {
      accepts: [["a:b", "a:B", "b:a"]],
      refuses: [
        ["a:b", "a:b"],
        ["a:b", "c:d", "a:b"],
      ],
    },
  });
  proves("2.2/recipe-required-permission-form", "each required permission", {
    "requiredPermissions.0": {
      accepts: [
        `${alphanumeric}_.-:${alphanumeric}`,
        `a:${alphanumeric}_.-`,
        "a:b",
        "_:-",
        "A9_.-:.",
        "..:..",
        `a:${"b".repeat(126)}`,
        `${"a".repeat(126)}:b`,
      ],
      refuses: [
        ...["", "a", ":", "a:", ":b", "a:b:c", "a::b", "a b:c", "a/b:c", "é:b", "a:b\n", `a:${"b".repeat(127)}`],
        ...[null, 1, true, ["a:b"], {}],
      ],
    },
  });
  proves("2.2/recipe-stop-after-stage", {
    stopAfterStage: oneOf("SIFT", "REFINE", "BLEND", "CHURN", "TASTE", "FREEZE"),
  });

  proves("2.2/recipe-stop-after-stage", "the other three stages are no place to stop", () => {
    const stops = (stopAfterStage: string) =>
      RecipeDefinition.safeParse({ ...samples.recipeDefinition, stopAfterStage }).success;
    expect(["GATHER", "SCOOP", "SERVE"].filter(stops)).toEqual([]);
  });
});

describe("InputRequirement", () => {
  const { proves } = objectUnderTest(InputRequirement, samples.inputRequirement, { freeForm });
  proves(["2.2/all-fields-required", "2.2/closed-objects"], "has exactly its fields");
  proves(["2.2/input-requirement-ids", "2.2/workspace-style-id"], {
    name: workspaceStyleId,
    schemaVersionId: workspaceStyleId,
  });
  proves("2.2/input-requirement-value-state", {
    valueState: oneOf("RAW", "EXTRACTED", "NORMALIZED", "MATCHED", "DERIVED"),
  });
  proves("2.2/recipe-parameters", { schema: object(samples.recipeParameters) });
});

describe("RecipeParameters", () => {
  const { proves } = objectUnderTest(RecipeParameters, samples.recipeParameters, { freeForm });
  const properties = (count: number) =>
    Object.fromEntries(Array.from({ length: count }, (_, index) => [`reference:${index}`, {}]));
  const keyed = (...keys: readonly unknown[]) => keys.map((key) => ({ [String(key)]: {} }));

  proves(["2.2/all-fields-required", "2.2/closed-objects"], "has exactly its fields");
  proves(["2.2/recipe-parameters-identity", "2.2/workspace-style-id", "2.2/hex"], {
    versionId: workspaceStyleId,
    contentHash: hex64,
  });
  proves("2.2/recipe-parameters-definition", { definition: freeFormObject });
  proves("2.2/recipe-parameters-references", "references: how many", {
    references: {
      accepts: [0, 1, 199, 200].map(properties),
      refuses: [properties(201), [], [{}], null, "year", 1, true],
    },
  });
  proves("2.2/recipe-parameters-references", "references: keys", {
    references: {
      accepts: keyed(...workspaceStyleId.accepts, "constructor", "toString"),
      refuses: [
        ...keyed("", "_a", ".a", "a b", "a/b", "é", "x".repeat(129)),
        JSON.parse('{"__proto__":{}}'),
        { year: {}, "two words": {} },
      ],
      refusesBeyondJsonSchema: keyed(...(workspaceStyleId.refusesBeyondJsonSchema ?? [])),
    },
  });
  proves("2.2/recipe-parameters-references", "references: values", {
    references: {
      accepts: freeFormObject.accepts.map((value) => ({ year: value })),
      refuses: freeFormObject.refuses.map((value) => ({ month: {}, year: value })),
    },
  });
});

test("free-form objects are handed on as the objects they are", () => {
  const parsed = RecipeOffer.parse(samples.recipeOffer);
  expect(parsed.recipe.parameters.definition).toBe(samples.recipeParameters.definition);
  expect(parsed.recipe.parameters.references).toBe(samples.recipeParameters.references);
});
