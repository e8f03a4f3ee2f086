// Tests the schemas of resources, envelopes, lists and errors (docs/contract.md, 2 and 7) against the rules of their fields.

import { describe, expect, test } from "vitest";
import { DEFAULT_JOB_PAGE, envelope, jobPage, MAX_PAGE, micEnvelope, recipePage } from "../../src/contract/envelope.ts";
import { Input } from "../../src/contract/inputs.ts";
import { Job, JobETag, jobETag, STAGES, Stage } from "../../src/contract/jobs.ts";
import { Operation } from "../../src/contract/operation.ts";
import * as playground from "../../src/contract/playground.ts";
import { FieldError, Problem } from "../../src/contract/problem.ts";
import { ProcessingRequest } from "../../src/contract/processing-requests.ts";
import { InputRequirement, RecipeDefinition, RecipeOffer, RecipeParameters } from "../../src/contract/recipes.ts";
import { Capability, CapabilitySet, QuotaBucket, UsageBucket, UsageSummary } from "../../src/contract/usage.ts";
import { words } from "../support/words.ts";
import {
  alphanumeric,
  anyText,
  boolean,
  constant,
  count,
  dateTime,
  decimalAmount,
  decimalVersion,
  eTag,
  freeFormObject,
  hex64,
  integer,
  list,
  MAX_SAFE,
  nullable,
  object,
  oneOf,
  onlyFalse,
  positiveDecimalVersion,
  prefixedHex32,
  revision,
  text,
  textList,
  utcInstant,
  workspaceStyleId,
} from "./field-rules.ts";
import { createObjectTests, createRuleTest } from "./object-rules.ts";
import * as samples from "./samples.ts";

const freeForm = ["definition", "references"];

describe("Problem", () => {
  const testFields = createObjectTests(Problem, samples.problem);
  testFields("has exactly its fields [2.2/all-fields-required, 2.2/closed-objects]");
  testFields("[2.2/problem-texts]", {
    type: text(1, 512),
    title: text(1, 160),
    code: text(1, 100),
    requestId: text(1, 128),
  });
  testFields("[2.2/problem-status]", { status: integer(400, 599) });
  testFields("[2.2/problem-retryable]", { retryable: boolean });
  testFields("[2.2/problem-field-errors]", { fieldErrors: list(0, 100, () => samples.fieldError) });
});

describe("a field error", () => {
  const testFields = createObjectTests(FieldError, samples.fieldError);
  testFields("has exactly its fields [2.2/problem-field-error]");
  testFields("[2.2/problem-field-error]", { pointer: text(0, 512), code: text(1, 100), message: text(1, 1000) });
});

describe("Job", () => {
  const testFields = createObjectTests(Job, samples.job);
  const state = oneOf("PREPARING", "QUEUED", "RUNNING", "WAITING_REVIEW", "PAUSED", "SUCCEEDED", "FAILED", "CANCELLED");
  testFields("has exactly its fields [2.2/all-fields-required, 2.2/closed-objects]");
  testFields("[2.2/job-ids]", { id: text(1, 128), workspaceId: text(1, 128), recipeVersionId: text(1, 128) });
  testFields("[2.2/environment]", { environment: oneOf("SANDBOX", "PRODUCTION") });
  testFields("[3/job-state]", { state, processingState: state });
  testFields("[2.2/integer-resource-version]", { resourceVersion: integer(1, MAX_SAFE) });
  testFields("[2.2/created-and-updated-at, 2.2/date-time]", { createdAt: dateTime, updatedAt: dateTime });
  testFields("[3/job-publication-state]", {
    publicationState: oneOf("NOT_REQUESTED", "AWAITING_RELEASE", "BUILDING", "ACTIVE", "WITHDRAWN"),
  });
  testFields("[2.2/job-nullable-ids]", { outputDatasetVersionId: nullable(text(1, 128)) });
  testFields("[3/job-review-state]", { reviewState: oneOf("NOT_REQUIRED", "PENDING", "APPROVED", "REJECTED") });
  testFields("[2.2/job-stages]", { stages: list(0, 9, () => samples.stage) });
  testFields("[2.2/job-nullable-ids]", { retryOfBatchId: nullable(text(1, 128)) });
  testFields("[2.2/failure]", { failure: nullable(object(samples.problem)) });
});

describe("Stage", () => {
  const testFields = createObjectTests(Stage, samples.stage);
  testFields("has exactly its fields [2.2/all-fields-required, 2.2/closed-objects]");
  testFields("[2.2/stage-name]", {
    stage: oneOf("GATHER", "SIFT", "REFINE", "BLEND", "CHURN", "TASTE", "FREEZE", "SCOOP", "SERVE"),
  });
  testFields("[3/stage-state]", {
    state: oneOf("PENDING", "RUNNING", "WAITING_REVIEW", "SUCCEEDED", "FAILED", "CANCELLED", "NOT_REQUIRED"),
  });
  testFields("[2.2/stage-attempt-count]", { attemptCount: integer(0, 1000) });
  testFields("[2.2/stage-completed-units]", { completedUnits: integer(0, MAX_SAFE) });
  testFields("[2.2/stage-total-units]", { totalUnits: nullable(integer(0, MAX_SAFE)) });
});

test("the nine stages are in the contract's order [2.2/stage-name]", () => {
  expect(STAGES).toEqual(["GATHER", "SIFT", "REFINE", "BLEND", "CHURN", "TASTE", "FREEZE", "SCOOP", "SERVE"]);
});

test("If-Match is a positive integer in double quotes [4.2/if-match-form]", createRuleTest(JobETag, eTag));

test("jobETag turns a version into its ETag [4.2/if-match-form]", () => {
  expect([1, 42, 9007199254740991].map(jobETag)).toEqual(['"1"', '"42"', '"9007199254740991"']);
});

describe("Operation", () => {
  const testFields = createObjectTests(Operation, samples.operation);
  testFields("has exactly its fields [2.2/all-fields-required, 2.2/closed-objects]");
  testFields("[2.2/operation-ids]", {
    id: text(1, 128),
    workspaceId: text(1, 128),
    originatingResourceId: text(1, 128),
  });
  testFields("[2.2/environment]", { environment: oneOf("SANDBOX", "PRODUCTION") });
  testFields("[3/operation-state]", { state: oneOf("QUEUED", "RUNNING", "SUCCEEDED", "FAILED", "CANCELLED") });
  testFields("[2.2/integer-resource-version]", { resourceVersion: integer(1, MAX_SAFE) });
  testFields("[2.2/created-and-updated-at, 2.2/date-time]", { createdAt: dateTime, updatedAt: dateTime });
  testFields("[2.2/operation-type]", { operationType: text(1, 100) });
  testFields("[2.2/operation-required-scopes]", { requiredScopes: textList(0, 64, text(1, 100)) });
  testFields("[2.2/operation-result-resource-id]", { resultResourceId: nullable(text(1, 128)) });
  testFields("[2.2/failure]", { failure: nullable(object(samples.problem)) });
});

describe("Input", () => {
  const testFields = createObjectTests(Input, samples.input);
  testFields("has exactly its fields [2.2/all-fields-required, 2.2/closed-objects]");
  testFields("[2.2/input-ids]", { id: text(1, 128), workspaceId: text(1, 128), referenceId: text(1, 128) });
  testFields("[2.2/environment]", { environment: oneOf("SANDBOX", "PRODUCTION") });
  testFields("[3/input-state]", { state: oneOf("WAITING_SCAN", "READY", "QUARANTINED", "EXPIRED", "WITHDRAWN") });
  testFields("[2.2/input-resource-version]", { resourceVersion: positiveDecimalVersion });
  testFields("[2.2/created-and-updated-at, 2.2/input-expires-at, 2.2/date-time]", {
    createdAt: dateTime,
    updatedAt: dateTime,
    expiresAt: nullable(dateTime),
  });
  testFields("[2.2/input-kind]", { inputKind: oneOf("M4_FILE", "ACQUISITION", "DATASET_VERSION") });
  testFields("[2.2/input-sha256, 2.2/hex]", { sha256: hex64 });
  testFields("[3/input-scan-state]", {
    scanState: oneOf("PENDING", "CLEAN", "INFECTED", "UNAVAILABLE", "STALE", "NOT_APPLICABLE"),
  });
  testFields("[2.2/input-classification]", { classification: text(1, 80) });
});

describe("ProcessingRequest", () => {
  const testFields = createObjectTests(ProcessingRequest, samples.processingRequest);
  testFields("has exactly its fields [2.2/all-fields-required, 2.2/closed-objects]");
  testFields("[2.2/processing-request-id, 2.2/hex]", { id: prefixedHex32("micsharedrequest_") });
  testFields("[2.2/processing-request-source-origin]", { sourceOrigin: constant("SHARED_FILE_REQUEST") });
  testFields("[2.2/workspace-style-workspace-id, 2.2/workspace-style-id]", { workspaceId: workspaceStyleId });
  testFields("[2.2/processing-request-input-id]", { inputId: prefixedHex32("micinput_") });
  testFields("[2.2/processing-request-recipe-version-id]", { recipeVersionId: prefixedHex32("micrecipev_") });
  testFields("[3/processing-request-state]", {
    state: oneOf("SUBMITTED", "REVIEWABLE", "APPROVED", "REJECTED", "REVOKED"),
  });
  testFields("[2.2/processing-request-revision, 2.2/processing-request-revision-no-coercion]", { revision });
  testFields("[2.2/processing-request-hashes]", { requestHash: hex64, reviewHash: nullable(hex64) });
  testFields("[2.2/processing-request-reason-code]", {
    reasonCode: nullable(
      oneOf(
        "REVIEWED_PROCESSING_PURPOSE",
        "PURPOSE_NOT_ALLOWED",
        "SOURCE_NOT_ELIGIBLE",
        "ACCESS_NO_LONGER_REQUIRED",
        "SECURITY_REVOKED",
      ),
    ),
  });
  testFields("[2.2/processing-request-instants, 2.2/processing-request-instants-valid]", {
    createdAt: utcInstant,
    expiresAt: utcInstant,
  });
});

describe("RecipeOffer", () => {
  const testFields = createObjectTests(RecipeOffer, samples.recipeOffer, { freeForm });
  testFields("has exactly its fields [2.2/all-fields-required, 2.2/closed-objects]");
  testFields("[2.2/offer-id, 2.2/hex]", { id: prefixedHex32("micoffer_") });
  testFields("[2.2/workspace-style-workspace-id, 2.2/workspace-style-id]", { workspaceId: workspaceStyleId });
  testFields("[2.2/sandbox-environment]", { environment: constant("SANDBOX") });
  testFields("[2.2/offer-resource-version]", { resourceVersion: decimalVersion });
  testFields("[2.2/offer-recipe]", { recipe: object(samples.recipeDefinition) });
  testFields("[1/offers-reference-only]", {
    availability: constant("REVIEWED_REFERENCE"),
    executionAvailable: onlyFalse,
  });
  testFields("[2.2/offer-dates, 2.2/date-time]", { approvedAt: dateTime, expiresAt: dateTime });
});

describe("the size of a RecipeOffer", () => {
  const withDefinition = (definition: unknown) => ({
    ...samples.recipeOffer,
    recipe: { ...samples.recipeDefinition, parameters: { ...samples.recipeParameters, definition } },
  });
  const bytes = (value: unknown) => Buffer.byteLength(JSON.stringify(value), "utf8");
  const spare = 65536 - bytes(withDefinition({ pad: "" }));
  const accepts = (value: unknown) => RecipeOffer.safeParse(value).success;

  test("an offer may be 65,535 or 65,536 bytes, but not 65,537 [2.2/offer-projection-size]", () => {
    const sized = [spare - 1, spare, spare + 1].map((length) => withDefinition({ pad: "x".repeat(length) }));
    expect(sized.map(bytes)).toEqual([65535, 65536, 65537]);
    expect(sized.map(accepts)).toEqual([true, true, false]);
  });

  test("the size of an offer is counted in UTF-8 bytes, not in characters [2.2/offer-projection-size]", () => {
    const emoji = Math.floor(spare / 4);
    expect(accepts(withDefinition({ pad: "😀".repeat(emoji) }))).toBe(true);
    expect(accepts(withDefinition({ pad: "😀".repeat(emoji + 1) }))).toBe(false);
  });

  test("the size of an offer includes the digits of a bigint [2.2/offer-projection-size]", () => {
    const big = 9223372036854775807n;
    const padded = (length: number) => withDefinition({ pad: "x".repeat(length), big });
    const remainingBytes = spare - ',"big":9223372036854775807'.length;
    expect([padded(remainingBytes), padded(remainingBytes + 1)].map(accepts)).toEqual([true, false]);
  });
});

describe("RecipeDefinition", () => {
  const testFields = createObjectTests(RecipeDefinition, samples.recipeDefinition, { freeForm });
  testFields("has exactly its fields [2.2/all-fields-required, 2.2/closed-objects]");
  testFields("[2.2/recipe-ids, 2.2/hex]", { recipeId: prefixedHex32("micrecipe_") });
  testFields("[2.2/recipe-ids]", { versionId: prefixedHex32("micrecipev_") });
  testFields("[2.2/recipe-version-hash]", { versionHash: hex64 });
  testFields("[2.2/recipe-name]", { name: text(1, 160) });
  testFields("[2.2/recipe-inputs]", { inputs: list(1, 100, () => samples.inputRequirement) });
  testFields("[2.2/recipe-parameters]", { parameters: object(samples.recipeParameters) });
  testFields("[2.2/recipe-required-permissions]", { requiredPermissions: list(0, 200, (index) => `part:${index}`) });
  testFields("accepts only unique requiredPermissions [2.2/recipe-required-permissions]", {
    requiredPermissions: {
      accepts: [["a:b", "a:B", "b:a"]],
      refuses: [
        ["a:b", "a:b"],
        ["a:b", "c:d", "a:b"],
      ],
    },
  });
  testFields("accepts only required permissions of the form part:part [2.2/recipe-required-permission-form]", {
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
  testFields("[2.2/recipe-stop-after-stage]", {
    stopAfterStage: oneOf("SIFT", "REFINE", "BLEND", "CHURN", "TASTE", "FREEZE"),
  });

  test("refuses the other three stages as stopAfterStage [2.2/recipe-stop-after-stage]", () => {
    const stops = (stopAfterStage: string) =>
      RecipeDefinition.safeParse({ ...samples.recipeDefinition, stopAfterStage }).success;
    expect(["GATHER", "SCOOP", "SERVE"].filter(stops)).toEqual([]);
  });
});

describe("InputRequirement", () => {
  const testFields = createObjectTests(InputRequirement, samples.inputRequirement, { freeForm });
  testFields("has exactly its fields [2.2/all-fields-required, 2.2/closed-objects]");
  testFields("[2.2/input-requirement-ids, 2.2/workspace-style-id]", {
    name: workspaceStyleId,
    schemaVersionId: workspaceStyleId,
  });
  testFields("[2.2/input-requirement-value-state]", {
    valueState: oneOf("RAW", "EXTRACTED", "NORMALIZED", "MATCHED", "DERIVED"),
  });
  testFields("[2.2/recipe-parameters]", { schema: object(samples.recipeParameters) });
});

describe("RecipeParameters", () => {
  const testFields = createObjectTests(RecipeParameters, samples.recipeParameters, { freeForm });
  const properties = (count: number) =>
    Object.fromEntries(Array.from({ length: count }, (_, index) => [`reference:${index}`, {}]));
  const keyed = (...keys: readonly unknown[]) => keys.map((key) => ({ [String(key)]: {} }));

  testFields("has exactly its fields [2.2/all-fields-required, 2.2/closed-objects]");
  testFields("[2.2/recipe-parameters-identity, 2.2/workspace-style-id, 2.2/hex]", {
    versionId: workspaceStyleId,
    contentHash: hex64,
  });
  testFields("[2.2/recipe-parameters-definition]", { definition: freeFormObject });
  testFields("accepts 0 to 200 references [2.2/recipe-parameters-references]", {
    references: {
      accepts: [0, 1, 199, 200].map(properties),
      refuses: [properties(201), [], [{}], null, "year", 1, true],
    },
  });
  testFields("accepts only workspace-style ids as keys of references [2.2/recipe-parameters-references]", {
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
  testFields("accepts only free-form objects as values of references [2.2/recipe-parameters-references]", {
    references: {
      accepts: freeFormObject.accepts.map((value) => ({ year: value })),
      refuses: freeFormObject.refuses.map((value) => ({ month: {}, year: value })),
    },
  });
});

test("free-form objects are passed on as the same objects", () => {
  const parsed = RecipeOffer.parse(samples.recipeOffer);
  expect(parsed.recipe.parameters.definition).toBe(samples.recipeParameters.definition);
  expect(parsed.recipe.parameters.references).toBe(samples.recipeParameters.references);
});

describe("UsageSummary", () => {
  const testFields = createObjectTests(UsageSummary, samples.usageSummary);
  testFields("has exactly its fields [2.2/all-fields-required, 2.2/closed-objects]");
  testFields("[2.2/workspace-style-workspace-id, 2.2/workspace-style-id]", { workspaceId: workspaceStyleId });
  testFields("[2.2/sandbox-environment]", { environment: constant("SANDBOX") });
  testFields("[2.2/usage-window]", { window: oneOf("DAY", "ENTITLEMENT") });
  testFields("[2.2/usage-dates, 2.2/date-time]", { observedAt: dateTime, activatedAt: dateTime, expiresAt: dateTime });
  testFields("[2.2/usage-quota-scope]", { quotaScope: constant("ORGANIZATION_SHARED") });
  testFields("[2.2/usage-entitlement-state]", { entitlementState: constant("ACTIVE") });
  testFields("[2.2/usage-reset-timezone]", { resetTimezone: oneOf("UTC", "Asia/Kolkata") });
  testFields("[2.2/usage-buckets]", { buckets: list(0, 32, () => samples.usageBucket) });
});

describe("UsageBucket", () => {
  const testFields = createObjectTests(UsageBucket, samples.usageBucket);
  const metric = {
    accepts: ["A", "Z9_", "ZABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_", "JOBS_RUN", `M${"_".repeat(79)}`],
    refuses: [
      "",
      "a",
      "1A",
      "_A",
      "JOBS-RUN",
      "JOBS RUN",
      "jOBS",
      "JObS",
      "Aa",
      "É",
      "A\n",
      "A".repeat(81),
      ...anyText.refuses,
    ],
  };
  testFields("has exactly its fields [2.2/all-fields-required, 2.2/closed-objects]");
  testFields("[2.2/usage-bucket-metric]", { metric });
  testFields("[2.2/usage-bucket-unit]", { unit: nullable(oneOf("COUNT", "BYTE")) });
  testFields("[2.2/usage-bucket-unit-definition-state]", { unitDefinitionState: oneOf("DEFINED", "NOT_CONFIGURED") });
  testFields("[2.2/usage-quota-scope]", { quotaScope: constant("ORGANIZATION_SHARED") });
  testFields("[2.2/bucket-dates]", {
    windowStart: dateTime,
    windowEnd: dateTime,
    resetAt: nullable(dateTime),
    expiresAt: dateTime,
  });
  testFields("[2.2/usage-bucket-amounts]", {
    granted: decimalAmount,
    used: decimalAmount,
    reserved: decimalAmount,
    remaining: decimalAmount,
  });
});

describe("CapabilitySet", () => {
  const testFields = createObjectTests(CapabilitySet, samples.capabilitySet);
  testFields("has exactly its fields [2.2/all-fields-required, 2.2/closed-objects]");
  testFields("[2.2/capability-set-identity]", {
    workspaceId: text(1, 128),
    environment: oneOf("SANDBOX", "PRODUCTION"),
  });
  testFields("[2.2/capability-set-arrays]", {
    capabilities: list(0, 100, () => samples.capability),
    limits: list(0, 32, () => samples.quotaBucket),
  });
});

describe("Capability", () => {
  const testFields = createObjectTests(Capability, samples.capability);
  testFields("has exactly its fields [2.2/all-fields-required, 2.2/closed-objects]");
  testFields("[2.2/capability-names]", { kind: text(1, 80), operation: text(1, 80), version: text(1, 80) });
  testFields("[2.2/capability-support-level]", {
    supportLevel: oneOf("RAW_ONLY", "EXTRACT", "NORMALIZE", "PUBLISH_READY_FOR_RECIPE"),
  });
  testFields("[2.2/capability-enabled]", { enabled: boolean });
  testFields("[2.2/capability-prerequisite-and-evidence]", { prerequisite: nullable(text(1, 1000)) });
  testFields("[2.2/capability-prerequisite-and-evidence]", { evidenceRef: nullable(text(1, 128)) });
  testFields("[2.2/capability-max-bytes-and-rows]", {
    maxInputBytes: integer(0, MAX_SAFE),
    maxRows: integer(0, MAX_SAFE),
  });
  testFields("[2.2/capability-max-pages]", { maxPages: integer(0, 100_000) });
  testFields("[2.2/capability-languages]", { languages: textList(0, 32, text(1, 32)) });
});

describe("QuotaBucket", () => {
  const testFields = createObjectTests(QuotaBucket, samples.quotaBucket);
  const amount = integer(0, MAX_SAFE);
  testFields("has exactly its fields [2.2/all-fields-required, 2.2/closed-objects]");
  testFields("[2.2/quota-bucket-unit]", { unit: text(1, 80) });
  testFields("[2.2/bucket-dates]", {
    windowStart: dateTime,
    windowEnd: dateTime,
    resetAt: nullable(dateTime),
    expiresAt: dateTime,
  });
  testFields("[2.2/quota-bucket-amounts]", { granted: amount, used: amount, reserved: amount, remaining: amount });
});

describe("Envelope", () => {
  const testFields = createObjectTests(envelope(Stage), samples.enveloped(samples.stage));
  testFields("has exactly data and meta, and meta has exactly requestId [2.2/envelope]");
  testFields("[2.2/envelope]", { data: object(samples.stage) });
  testFields("[2.2/meta-request-id]", { "meta.requestId": text(1, 128) });
});

describe("Envelope of a recipe or a processing request", () => {
  const testFields = createObjectTests(micEnvelope(RecipeOffer), samples.micEnveloped(samples.recipeOffer), {
    freeForm,
  });
  testFields("has exactly data and meta, and meta has exactly requestId [2.2/envelope]");
  testFields("[2.2/envelope]", { data: object(samples.recipeOffer) });
  testFields("[2.2/meta-request-id-micreq]", { "meta.requestId": prefixedHex32("micreq_") });
});

describe("the job list", () => {
  const testFields = createObjectTests(jobPage(Job), samples.jobList);
  testFields("has exactly data, meta and page [2.2/job-list]");
  testFields("[2.2/job-list]", { data: list(0, 100, () => samples.job) });
  testFields("[2.2/job-list, 2.2/meta-request-id]", { "meta.requestId": text(1, 128) });
  testFields("[2.2/job-list-page]", { "page.nextCursor": nullable(text(1, 4096)), "page.hasMore": boolean });
});

describe("the recipe offer list", () => {
  const testFields = createObjectTests(recipePage(RecipeOffer), samples.recipeList, { freeForm });
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
  testFields("has exactly data, page and meta [2.2/recipe-list]");
  testFields("[2.2/recipe-list]", { data: list(0, 100, () => samples.recipeOffer) });
  testFields("[2.2/recipe-list, 2.2/meta-request-id-micreq]", { "meta.requestId": prefixedHex32("micreq_") });
  testFields("[2.2/recipe-list-page]", {
    "page.limit": integer(1, 100),
    "page.nextCursor": nullable(cursor),
    "page.hasMore": boolean,
  });
});

test("a page has at most 100 items, and 25 jobs by default", () => {
  expect([MAX_PAGE, DEFAULT_JOB_PAGE]).toEqual([100, 25]);
});

const metadata = ["source", "sourceRef", "sourceUpdatedAt", "fallbackUsed"];
const contract = constant("svc.geo.admin-divisions.v1");
const sourceRef = {
  accepts: [
    "https://catalogue.example/lgd",
    "http://[::1]:80/a?b=c#d",
    "https://zone.example/AZaz09-._~!$&'()*+,;=:@%20?/#?",
    "urn:lgd:districts",
    "mailto:lgd@example.org",
    "http://catalogue.example:99999/",
    "http://catalogue.example:/",
    "https://user:word@catalogue.example/%C3%A9",
    "file:///lgd.csv",
    "x:",
  ],
  refuses: [
    "",
    "catalogue",
    "/lgd/districts",
    "//catalogue.example/lgd",
    "https://catalogue.example/two words",
    " https://catalogue.example/lgd",
    "https://catalogue.example/é",
    "1https://catalogue.example",
    ...anyText.refuses,
  ],
  refusesBeyondJsonSchema: words(`
    https:// http:catalogue http://[::1 http://[::1]x/ https://catalogue.example:port/ https://catalogue.example/%zz
    https://catalogue.example/%4 https://catalogue.example/a[1] https://catalogue.example/#a#b`),
};

function testMetadata(testFields: ReturnType<typeof createObjectTests>): void {
  testFields("[2.1/catalog-contract]", { contract });
  testFields("[2.1/catalog-source]", { source: anyText });
  testFields("[2.1/catalog-source-ref]", { sourceRef });
  testFields("[2.1/catalog-source-updated-at]", { sourceUpdatedAt: anyText });
  testFields("[2.1/catalog-fallback-used]", { fallbackUsed: boolean });
}

describe("StatesResponse", () => {
  const testFields = createObjectTests(playground.StatesResponse, samples.statesResponse, {
    optional: [...metadata, "states.*.lgdCode"],
  });
  testFields("has exactly its fields, and so have its states [2.1/closed-objects]");
  testMetadata(testFields);
  testFields("[2.1/states-response]", { states: list(0, 64, () => samples.state) });
});

describe("DistrictsResponse", () => {
  const testFields = createObjectTests(playground.DistrictsResponse, samples.districtsResponse, { optional: metadata });
  testFields("has exactly its fields, and so have its districts [2.1/closed-objects]");
  testMetadata(testFields);
  testFields("[2.1/districts-response-state]", { state: anyText });
  testFields("[2.1/districts-response-districts]", { districts: list(0, 256, () => samples.district) });
});

describe("CatalogMetadata", () => {
  const testFields = createObjectTests(playground.CatalogMetadata, samples.catalogMetadata, { optional: metadata });
  testFields("requires only contract [2.1/catalog-contract]");
});

describe("State", () => {
  const testFields = createObjectTests(playground.State, samples.state, { optional: ["lgdCode"] });
  const code = {
    accepts: ["TG", "AP", "ZZ"],
    refuses: ["", "T", "TGA", "T1", "36", "T ", " T", "TG\n", "ÄÖ", "𝐓𝐆", ...anyText.refuses],
  };
  testFields("has exactly its fields [2.1/closed-objects]");
  testFields("[2.1/state-code]", { code });
  testFields("[2.1/state-lgd-code]", { lgdCode: anyText });
  testFields("[2.1/state-name]", { name: anyText });
  testFields("[2.1/state-counts]", { districtCount: count, mandalCount: count });
});

describe("District", () => {
  const testFields = createObjectTests(playground.District, samples.district);
  testFields("has exactly its fields [2.1/closed-objects]");
  testFields("[2.1/district-code-and-name]", { code: anyText, name: anyText });
  testFields("[2.1/district-mandal-count]", { mandalCount: count });
});

describe("the OpenAPI document", () => {
  const testFields = createObjectTests(playground.OpenApiDocument, samples.openApiDocument);
  testFields("[4.1/openapi]", { openapi: constant("3.1.1"), info: freeFormObject, paths: freeFormObject });

  test("requires its three fields and accepts others [4.1/openapi]", () => {
    const { openapi, info, paths } = samples.openApiDocument;
    const accepts = (value: unknown) => playground.OpenApiDocument.safeParse(value).success;
    expect(
      [
        { info, paths },
        { openapi, paths },
        { openapi, info },
      ].map(accepts),
    ).toEqual([false, false, false]);
    const document = { openapi, info, paths, components: { schemas: {} }, security: [] };
    expect(playground.OpenApiDocument.parse(document)).toEqual(document);
  });
});

describe("PlaygroundError", () => {
  const testFields = createObjectTests(playground.PlaygroundError, samples.playgroundError);
  testFields("has exactly one field [7.1/body]");
  testFields("[7.1/body]", {
    status: oneOf(
      "INVALID_PLAYGROUND_REQUEST",
      "PLAYGROUND_REQUEST_DENIED",
      "PLAYGROUND_RATE_LIMITED",
      "PLAYGROUND_UPSTREAM_UNAVAILABLE",
    ),
  });

  test("has one status code per HTTP status", () => {
    expect(playground.PLAYGROUND_STATUS).toEqual({
      400: "INVALID_PLAYGROUND_REQUEST",
      403: "PLAYGROUND_REQUEST_DENIED",
      429: "PLAYGROUND_RATE_LIMITED",
      502: "PLAYGROUND_UPSTREAM_UNAVAILABLE",
    });
  });

  test("a Retry-After is an integer >= 1", () => {
    const accepts = (value: unknown) => playground.RetryAfter.safeParse(value).success;
    expect(["1", "60", "120"].filter((value) => !accepts(value))).toEqual([]);
    expect(["", "0", "-1", "01", "1.5", " 1", "1s", "soon", 1, null].filter(accepts)).toEqual([]);
  });
});
