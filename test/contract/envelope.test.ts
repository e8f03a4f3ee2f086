import { describe, expect, test } from "vitest";
import { DEFAULT_JOB_PAGE, envelope, jobPage, MAX_PAGE, micEnvelope, recipePage } from "../../src/contract/envelope.ts";
import { Job, Stage } from "../../src/contract/jobs.ts";
import { RecipeOffer } from "../../src/contract/recipes.ts";
import { alphanumeric, anyText, boolean, integer, list, nullable, object, prefixedHex32, text } from "./field-rules.ts";
import { objectUnderTest } from "./object-rules.ts";
import * as samples from "./samples.ts";

const freeForm = ["definition", "references"];

describe("Envelope", () => {
  const { proves } = objectUnderTest(envelope(Stage), samples.enveloped(samples.stage));
  proves("2.2/envelope", "has exactly data and meta, and meta requestId");
  proves("2.2/envelope", { data: object(samples.stage) });
  proves("2.2/meta-request-id", { "meta.requestId": text(1, 128) });
});

describe("Envelope of a recipe or a processing request", () => {
  const { proves } = objectUnderTest(micEnvelope(RecipeOffer), samples.micEnveloped(samples.recipeOffer), { freeForm });
  proves("2.2/envelope", "has exactly data and meta, and meta requestId");
  proves("2.2/envelope", { data: object(samples.recipeOffer) });
  proves("2.2/meta-request-id-micreq", { "meta.requestId": prefixedHex32("micreq_") });

  proves("2.2/meta-request-id-micreq", "its id has 39 characters", () => {
    expect(samples.micEnveloped({}).meta.requestId).toHaveLength(39);
  });
});

describe("the job list", () => {
  const { proves } = objectUnderTest(jobPage(Job), samples.jobList);
  proves("2.2/job-list", "has exactly data, meta and page");
  proves("2.2/job-list", { data: list(0, 100, () => samples.job) });
  proves(["2.2/job-list", "2.2/meta-request-id"], { "meta.requestId": text(1, 128) });
  proves("2.2/job-list-page", { "page.nextCursor": nullable(text(1, 4096)), "page.hasMore": boolean });
});

describe("the recipe offer list", () => {
  const { proves } = objectUnderTest(recipePage(RecipeOffer), samples.recipeList, { freeForm });
  const cursor = {
    accepts: [
      alphanumeric.slice(0, 43),
      alphanumeric.slice(-43),
      "a".repeat(43),
      "_".repeat(43),
      "-".repeat(43),
      samples.recipeList.page.nextCursor,
    ],
    refuses: [
      ...["", "a".repeat(42), "a".repeat(44), `${"a".repeat(42)}=`, `${"a".repeat(42)}.`, `${"a".repeat(42)}é`],
      ...[`${"a".repeat(43)}\n`, ` ${"a".repeat(42)}`, ...anyText.refuses],
    ],
  };
  proves("2.2/recipe-list", "has exactly data, page and meta");
  proves("2.2/recipe-list", { data: list(0, 100, () => samples.recipeOffer) });
  proves(["2.2/recipe-list", "2.2/meta-request-id-micreq"], { "meta.requestId": prefixedHex32("micreq_") });
  proves("2.2/recipe-list-page", {
    "page.limit": integer(1, 100),
    "page.nextCursor": nullable(cursor),
    "page.hasMore": boolean,
  });
});

test("a page holds at most 100 items, and 25 jobs when nothing is said", () => {
  expect([MAX_PAGE, DEFAULT_JOB_PAGE]).toEqual([100, 25]);
});
