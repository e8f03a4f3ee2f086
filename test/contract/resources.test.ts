// Tests the schemas of resources, envelopes, lists and errors (docs/contract.md, 2 and 7) against the rules of their fields.
import { describe, expect, test } from "vitest";
import type * as z from "zod/v4";
import { envelope, jobPage, micEnvelope, recipePage } from "../../src/contract/envelope.ts";
import { Input } from "../../src/contract/inputs.ts";
import { Job, JobETag, Stage } from "../../src/contract/jobs.ts";
import { Operation } from "../../src/contract/operation.ts";
import * as playground from "../../src/contract/playground.ts";
import { FieldError, Problem } from "../../src/contract/problem.ts";
import { ProcessingRequest } from "../../src/contract/processing-requests.ts";
import { InputRequirement, RecipeDefinition, RecipeOffer, RecipeParameters } from "../../src/contract/recipes.ts";
import { Capability, CapabilitySet, QuotaBucket, UsageBucket, UsageSummary } from "../../src/contract/usage.ts";
import { words } from "../support/words.ts";
import * as rules from "./field-rules.ts";
import { createRuleTest, testObject } from "./object-rules.ts";
import * as samples from "./samples.ts";

const { alphanumeric, anyText, boolean, count, dateTime, decimalAmount, decimalVersion, eTag, freeFormObject } = rules;
const { hex64, integer, list, MAX_SAFE, nullable, object, oneOf, onlyFalse, positiveDecimalVersion } = rules;
const { prefixedHex32, recipeCursor, revision, text, textList, utcInstant, workspaceStyleId } = rules;

type Groups = Parameters<typeof testObject>[3];

const testResource = (name: string, schema: z.ZodType, sample: Readonly<Record<string, unknown>>, groups: Groups) =>
  testObject(`${name} has exactly its fields [2.2/all-fields-required, 2.2/closed-objects]`, schema, sample, groups);

const id = text(1, 128);
const environment = oneOf("SANDBOX", "PRODUCTION");
const failure = nullable(object(samples.problem));
const integerVersion = ["[2.2/integer-resource-version]", { resourceVersion: integer(1, MAX_SAFE) }] as const;
const instants = ["[2.2/created-and-updated-at, 2.2/date-time]", { createdAt: dateTime, updatedAt: dateTime }] as const;
const workspace = [
  "[2.2/workspace-style-workspace-id, 2.2/workspace-style-id]",
  { workspaceId: workspaceStyleId },
] as const;
const sandbox = ["[2.2/sandbox-environment]", { environment: oneOf("SANDBOX") }] as const;
const quotaScope = ["[2.2/usage-quota-scope]", { quotaScope: oneOf("ORGANIZATION_SHARED") }] as const;
const bucketDates = [
  "[2.2/bucket-dates]",
  { windowStart: dateTime, windowEnd: dateTime, resetAt: nullable(dateTime), expiresAt: dateTime },
] as const;
const amounts = <T>(amount: T) => ({ granted: amount, used: amount, reserved: amount, remaining: amount });

testResource("Problem", Problem, samples.problem, [
  ["[2.2/problem-texts]", { type: text(1, 512), title: text(1, 160), code: text(1, 100), requestId: id }],
  ["[2.2/problem-status]", { status: integer(400, 599) }],
  ["[2.2/problem-retryable]", { retryable: boolean }],
  ["[2.2/problem-field-errors]", { fieldErrors: list(0, 100, () => samples.fieldError) }],
]);

testResource("a field error", FieldError, samples.fieldError, [
  ["[2.2/problem-field-error]", { pointer: text(0, 512), code: text(1, 100), message: text(1, 1000) }],
]);

const publicationState = oneOf("NOT_REQUESTED", "AWAITING_RELEASE", "BUILDING", "ACTIVE", "WITHDRAWN");
const jobState = oneOf(...words("PREPARING QUEUED RUNNING WAITING_REVIEW PAUSED SUCCEEDED FAILED CANCELLED"));
testResource("Job", Job, samples.job, [
  ["[2.2/job-ids]", { id, workspaceId: id, recipeVersionId: id }],
  ["[2.2/environment]", { environment }],
  ["[3/job-state]", { state: jobState, processingState: jobState }],
  integerVersion,
  instants,
  ["[3/job-publication-state]", { publicationState }],
  ["[2.2/job-nullable-ids]", { outputDatasetVersionId: nullable(id), retryOfBatchId: nullable(id) }],
  ["[3/job-review-state]", { reviewState: oneOf("NOT_REQUIRED", "PENDING", "APPROVED", "REJECTED") }],
  ["[2.2/job-stages]", { stages: list(0, 9, () => samples.stage) }],
  ["[2.2/failure]", { failure }],
]);

const stageState = oneOf(...words("PENDING RUNNING WAITING_REVIEW SUCCEEDED FAILED CANCELLED NOT_REQUIRED"));
const stageNames = words("GATHER SIFT REFINE BLEND CHURN TASTE FREEZE SCOOP SERVE");
testResource("Stage", Stage, samples.stage, [
  ["[2.2/stage-name]", { stage: oneOf(...stageNames) }],
  ["[3/stage-state]", { state: stageState }],
  ["[2.2/stage-attempt-count]", { attemptCount: integer(0, 1000) }],
  ["[2.2/stage-completed-units]", { completedUnits: integer(0, MAX_SAFE) }],
  ["[2.2/stage-total-units]", { totalUnits: nullable(integer(0, MAX_SAFE)) }],
]);

test("If-Match is a positive integer in double quotes [4.2/if-match-form]", createRuleTest(JobETag, eTag));

testResource("Operation", Operation, samples.operation, [
  ["[2.2/operation-ids]", { id, workspaceId: id, originatingResourceId: id }],
  ["[2.2/environment]", { environment }],
  ["[3/operation-state]", { state: oneOf("QUEUED", "RUNNING", "SUCCEEDED", "FAILED", "CANCELLED") }],
  integerVersion,
  instants,
  ["[2.2/operation-type]", { operationType: text(1, 100) }],
  ["[2.2/operation-required-scopes]", { requiredScopes: textList(0, 64, text(1, 100)) }],
  ["[2.2/operation-result-resource-id]", { resultResourceId: nullable(id) }],
  ["[2.2/failure]", { failure }],
]);

const scanState = oneOf("PENDING", "CLEAN", "INFECTED", "UNAVAILABLE", "STALE", "NOT_APPLICABLE");
testResource("Input", Input, samples.input, [
  ["[2.2/input-ids]", { id, workspaceId: id, referenceId: id }],
  ["[2.2/environment]", { environment }],
  ["[3/input-state]", { state: oneOf("WAITING_SCAN", "READY", "QUARANTINED", "EXPIRED", "WITHDRAWN") }],
  ["[2.2/input-resource-version]", { resourceVersion: positiveDecimalVersion }],
  instants,
  ["[2.2/input-expires-at, 2.2/date-time]", { expiresAt: nullable(dateTime) }],
  ["[2.2/input-kind]", { inputKind: oneOf("M4_FILE", "ACQUISITION", "DATASET_VERSION") }],
  ["[2.2/input-sha256, 2.2/hex]", { sha256: hex64 }],
  ["[3/input-scan-state]", { scanState }],
  ["[2.2/input-classification]", { classification: text(1, 80) }],
]);

const reasonCodes = words(`
  REVIEWED_PROCESSING_PURPOSE PURPOSE_NOT_ALLOWED SOURCE_NOT_ELIGIBLE ACCESS_NO_LONGER_REQUIRED SECURITY_REVOKED`);
testResource("ProcessingRequest", ProcessingRequest, samples.processingRequest, [
  ["[2.2/processing-request-id, 2.2/hex]", { id: prefixedHex32("micsharedrequest_") }],
  ["[2.2/processing-request-source-origin]", { sourceOrigin: oneOf("SHARED_FILE_REQUEST") }],
  workspace,
  ["[2.2/processing-request-input-id]", { inputId: prefixedHex32("micinput_") }],
  ["[2.2/processing-request-recipe-version-id]", { recipeVersionId: prefixedHex32("micrecipev_") }],
  ["[3/processing-request-state]", { state: oneOf("SUBMITTED", "REVIEWABLE", "APPROVED", "REJECTED", "REVOKED") }],
  ["[2.2/processing-request-revision, 2.2/processing-request-revision-no-coercion]", { revision }],
  ["[2.2/processing-request-hashes]", { requestHash: hex64, reviewHash: nullable(hex64) }],
  ["[2.2/processing-request-reason-code]", { reasonCode: nullable(oneOf(...reasonCodes)) }],
  ["[2.2/processing-request-instants]", { createdAt: utcInstant }],
  ["[2.2/processing-request-instants, 2.2/processing-request-instants-valid]", { expiresAt: utcInstant }],
]);

testResource("RecipeOffer", RecipeOffer, samples.recipeOffer, [
  ["[2.2/offer-id, 2.2/hex]", { id: prefixedHex32("micoffer_") }],
  workspace,
  sandbox,
  ["[2.2/offer-resource-version]", { resourceVersion: decimalVersion }],
  ["[2.2/offer-recipe]", { recipe: object(samples.recipeDefinition) }],
  ["[1/offers-reference-only]", { availability: oneOf("REVIEWED_REFERENCE"), executionAvailable: onlyFalse }],
  ["[2.2/offer-dates, 2.2/date-time]", { approvedAt: dateTime, expiresAt: dateTime }],
]);

test("a RecipeOffer has at most 65,536 bytes in UTF-8, including the digits of bigints [2.2/offer-projection-size]", () => {
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

const stopAfterStage = oneOf("SIFT", "REFINE", "BLEND", "CHURN", "TASTE", "FREEZE");
const permission = {
  accepts: [
    ...[`${alphanumeric}_.-:${alphanumeric}`, `a:${alphanumeric}_.-`, `a:${"b".repeat(126)}`, `${"a".repeat(126)}:b`],
    ...["a:b", "_:-", "A9_.-:.", "..:.."],
  ],
  refuses: [
    ...["", "a", ":", "a:", ":b", "a:b:c", "a::b", "a b:c", "a/b:c", "é:b", "a:b\n", `a:${"b".repeat(127)}`],
    ...[null, 1, true, ["a:b"], {}],
  ],
};
testResource("RecipeDefinition", RecipeDefinition, samples.recipeDefinition, [
  ["[2.2/recipe-ids, 2.2/hex]", { recipeId: prefixedHex32("micrecipe_"), versionId: prefixedHex32("micrecipev_") }],
  ["[2.2/recipe-version-hash]", { versionHash: hex64 }],
  ["[2.2/recipe-name]", { name: text(1, 160) }],
  ["[2.2/recipe-inputs]", { inputs: list(1, 100, () => samples.inputRequirement) }],
  ["[2.2/recipe-parameters]", { parameters: object(samples.recipeParameters) }],
  ["[2.2/recipe-required-permissions]", { requiredPermissions: list(0, 200, (index) => `part:${index}`) }],
  [
    "are unique [2.2/recipe-required-permissions]",
    { requiredPermissions: { accepts: [["a:b", "a:B", "b:a"]], refuses: [words("a:b a:b"), words("a:b c:d a:b")] } },
  ],
  ["has the form part:part [2.2/recipe-required-permission-form]", { "requiredPermissions.0": permission }],
  [
    "[2.2/recipe-stop-after-stage]",
    { stopAfterStage: { ...stopAfterStage, refuses: [...stopAfterStage.refuses, "GATHER", "SCOOP", "SERVE"] } },
  ],
]);

const valueState = oneOf("RAW", "EXTRACTED", "NORMALIZED", "MATCHED", "DERIVED");
const requirementIds = { name: workspaceStyleId, schemaVersionId: workspaceStyleId };
testResource("InputRequirement", InputRequirement, samples.inputRequirement, [
  ["[2.2/input-requirement-ids, 2.2/workspace-style-id]", requirementIds],
  ["[2.2/input-requirement-value-state]", { valueState }],
  ["[2.2/recipe-parameters]", { schema: object(samples.recipeParameters) }],
]);

const properties = (count: number) =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`reference:${index}`, {}]));
const references = (...counts: readonly number[]) => ({
  accepts: counts.map(properties),
  refuses: [properties(201), [], [{}], null, "year", 1, true],
});
const keyed = (...keys: readonly unknown[]) => keys.map((key) => ({ [String(key)]: {} }));
testResource("RecipeParameters", RecipeParameters, samples.recipeParameters, [
  ["[2.2/recipe-parameters-identity, 2.2/workspace-style-id]", { versionId: workspaceStyleId }],
  ["[2.2/recipe-parameters-identity, 2.2/hex]", { contentHash: hex64 }],
  ["[2.2/recipe-parameters-definition]", { definition: freeFormObject }],
  ["are 0 to 200 [2.2/recipe-parameters-references]", { references: references(0, 1, 199, 200) }],
  [
    "have workspace-style ids as keys [2.2/recipe-parameters-references]",
    {
      references: {
        accepts: keyed(...workspaceStyleId.accepts, "constructor", "toString"),
        refuses: [
          ...keyed("", "_a", ".a", "a b", "a/b", "é", "x".repeat(129)),
          ...[JSON.parse('{"__proto__":{}}'), { year: {}, "two words": {} }],
        ],
        refusesBeyondJsonSchema: keyed(...(workspaceStyleId.refusesBeyondJsonSchema ?? [])),
      },
    },
  ],
  ["have free-form objects as values [2.2/recipe-parameters-references]", { "references.year": freeFormObject }],
]);

testResource("UsageSummary", UsageSummary, samples.usageSummary, [
  workspace,
  sandbox,
  ["[2.2/usage-window]", { window: oneOf("DAY", "ENTITLEMENT") }],
  ["[2.2/usage-dates, 2.2/date-time]", { observedAt: dateTime, activatedAt: dateTime, expiresAt: dateTime }],
  quotaScope,
  ["[2.2/usage-entitlement-state]", { entitlementState: oneOf("ACTIVE") }],
  ["[2.2/usage-reset-timezone]", { resetTimezone: oneOf("UTC", "Asia/Kolkata") }],
  ["[2.2/usage-buckets]", { buckets: list(0, 32, () => samples.usageBucket) }],
]);

const metric = {
  accepts: ["A", "Z9_", "ZABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_", "JOBS_RUN", `M${"_".repeat(79)}`],
  refuses: [
    ...["", "a", "1A", "_A", "JOBS-RUN", "JOBS RUN", "jOBS", "JObS", "Aa", "É", "A\n", "A".repeat(81)],
    ...anyText.refuses,
  ],
};
testResource("UsageBucket", UsageBucket, samples.usageBucket, [
  ["[2.2/usage-bucket-metric]", { metric }],
  ["[2.2/usage-bucket-unit]", { unit: nullable(oneOf("COUNT", "BYTE")) }],
  ["[2.2/usage-bucket-unit-definition-state]", { unitDefinitionState: oneOf("DEFINED", "NOT_CONFIGURED") }],
  quotaScope,
  bucketDates,
  ["[2.2/usage-bucket-amounts]", amounts(decimalAmount)],
]);

testResource("CapabilitySet", CapabilitySet, samples.capabilitySet, [
  ["[2.2/capability-set-identity]", { workspaceId: id, environment }],
  [
    "[2.2/capability-set-arrays]",
    { capabilities: list(0, 100, () => samples.capability), limits: list(0, 32, () => samples.quotaBucket) },
  ],
]);

const supportLevel = oneOf("RAW_ONLY", "EXTRACT", "NORMALIZE", "PUBLISH_READY_FOR_RECIPE");
testResource("Capability", Capability, samples.capability, [
  ["[2.2/capability-names]", { kind: text(1, 80), operation: text(1, 80), version: text(1, 80) }],
  ["[2.2/capability-support-level]", { supportLevel }],
  ["[2.2/capability-enabled]", { enabled: boolean }],
  ["[2.2/capability-prerequisite-and-evidence]", { prerequisite: nullable(text(1, 1000)), evidenceRef: nullable(id) }],
  ["[2.2/capability-max-bytes-and-rows]", { maxInputBytes: integer(0, MAX_SAFE), maxRows: integer(0, MAX_SAFE) }],
  ["[2.2/capability-max-pages]", { maxPages: integer(0, 100_000) }],
  ["[2.2/capability-languages]", { languages: textList(0, 32, text(1, 32)) }],
]);

testResource("QuotaBucket", QuotaBucket, samples.quotaBucket, [
  ["[2.2/quota-bucket-unit]", { unit: text(1, 80) }],
  bucketDates,
  ["[2.2/quota-bucket-amounts]", amounts(integer(0, MAX_SAFE))],
]);

const micRequestId = prefixedHex32("micreq_");
testObject(
  "Envelope has exactly data and meta, and meta has exactly requestId [2.2/envelope]",
  envelope(Stage),
  samples.enveloped(samples.stage),
  [
    ["[2.2/envelope]", { data: object(samples.stage) }],
    ["[2.2/meta-request-id]", { "meta.requestId": id }],
  ],
);

testObject(
  "Envelope of a recipe or a processing request has exactly data and meta [2.2/envelope]",
  micEnvelope(RecipeOffer),
  samples.micEnveloped(samples.recipeOffer),
  [
    ["[2.2/envelope]", { data: object(samples.recipeOffer) }],
    ["[2.2/meta-request-id-micreq]", { "meta.requestId": micRequestId }],
  ],
);

testObject("the job list has exactly data, meta and page [2.2/job-list]", jobPage(Job), samples.jobList, [
  ["[2.2/job-list]", { data: list(0, 100, () => samples.job) }],
  ["[2.2/job-list, 2.2/meta-request-id]", { "meta.requestId": id }],
  ["[2.2/job-list-page]", { "page.nextCursor": nullable(text(1, 4096)), "page.hasMore": boolean }],
]);

testObject(
  "the recipe offer list has exactly data, page and meta [2.2/recipe-list]",
  recipePage(RecipeOffer),
  samples.recipeList,
  [
    ["[2.2/recipe-list]", { data: list(0, 100, () => samples.recipeOffer) }],
    ["[2.2/recipe-list, 2.2/meta-request-id-micreq]", { "meta.requestId": micRequestId }],
    [
      "[2.2/recipe-list-page]",
      { "page.limit": integer(1, 100), "page.nextCursor": nullable(recipeCursor), "page.hasMore": boolean },
    ],
  ],
);

const sourceRef = {
  accepts: words(`
    https://catalogue.example/lgd http://[::1]:80/a?b=c#d https://zone.example/AZaz09-._~!$&'()*+,;=:@%20?/#?
    urn:lgd:districts mailto:lgd@example.org http://catalogue.example:99999/ http://catalogue.example:/
    https://user:word@catalogue.example/%C3%A9 file:///lgd.csv x:`),
  refuses: [
    ...["", "https://catalogue.example/two words", " https://catalogue.example/lgd"],
    ...words("catalogue /lgd/districts //catalogue.example/lgd https://catalogue.example/é 1https://catalogue.example"),
    ...anyText.refuses,
  ],
  refusesBeyondJsonSchema: words(`
    https:// http:catalogue http://[::1 http://[::1]x/ https://catalogue.example:port/ https://catalogue.example/%zz
    https://catalogue.example/%4 https://catalogue.example/a[1] https://catalogue.example/#a#b`),
};
const metadata = ["source", "sourceRef", "sourceUpdatedAt", "fallbackUsed"];
const metadataGroups: Groups = [
  ["[2.1/catalog-contract]", { contract: oneOf("svc.geo.admin-divisions.v1") }],
  ["[2.1/catalog-source]", { source: anyText }],
  ["[2.1/catalog-source-ref]", { sourceRef }],
  ["[2.1/catalog-source-updated-at]", { sourceUpdatedAt: anyText }],
  ["[2.1/catalog-fallback-used]", { fallbackUsed: boolean }],
];

testObject(
  "StatesResponse has exactly its fields, and so have its states [2.1/closed-objects, 2.1/catalog-contract]",
  playground.StatesResponse,
  samples.statesResponse,
  [...metadataGroups, ["[2.1/states-response]", { states: list(0, 64, () => samples.state) }]],
  [...metadata, "states.*.lgdCode"],
);

testObject(
  "DistrictsResponse has exactly its fields, and so have its districts [2.1/closed-objects]",
  playground.DistrictsResponse,
  samples.districtsResponse,
  [
    ...metadataGroups,
    ["[2.1/districts-response-state]", { state: anyText }],
    ["[2.1/districts-response-districts]", { districts: list(0, 256, () => samples.district) }],
  ],
  metadata,
);

const code = {
  accepts: ["TG", "AP", "ZZ"],
  refuses: ["", "T", "TGA", "T1", "36", "T ", " T", "TG\n", "ÄÖ", "𝐓𝐆", ...anyText.refuses],
};
testObject(
  "State has exactly its fields [2.1/closed-objects]",
  playground.State,
  samples.state,
  [
    ["[2.1/state-code]", { code }],
    ["[2.1/state-lgd-code]", { lgdCode: anyText }],
    ["[2.1/state-name]", { name: anyText }],
    ["[2.1/state-counts]", { districtCount: count, mandalCount: count }],
  ],
  ["lgdCode"],
);

testObject("District has exactly its fields [2.1/closed-objects]", playground.District, samples.district, [
  ["[2.1/district-code-and-name]", { code: anyText, name: anyText }],
  ["[2.1/district-mandal-count]", { mandalCount: count }],
]);

test("the OpenAPI document requires its three fields and accepts others [4.1/openapi]", () => {
  const document = { ...samples.openApiDocument, components: { schemas: {} }, security: [] };
  expect(playground.OpenApiDocument.parse(document)).toEqual(document);
  for (const name of ["openapi", "info", "paths"])
    for (const wrong of [undefined, null, [], 1, "3.1.0"])
      expect(playground.OpenApiDocument.safeParse({ ...document, [name]: wrong }).success).toBe(false);
});

describe("PlaygroundError", () => {
  const status = {
    400: "INVALID_PLAYGROUND_REQUEST",
    403: "PLAYGROUND_REQUEST_DENIED",
    429: "PLAYGROUND_RATE_LIMITED",
    502: "PLAYGROUND_UPSTREAM_UNAVAILABLE",
  };
  testObject("PlaygroundError has exactly one field [7.1/body]", playground.PlaygroundError, samples.playgroundError, [
    ["[7.1/body]", { status: oneOf(...Object.values(status)) }],
  ]);

  test("PlaygroundError has one status code per HTTP status", () =>
    expect(playground.PLAYGROUND_STATUS).toEqual(status));

  test("a Retry-After is an integer >= 1", () => {
    const accepts = (value: unknown) => playground.RetryAfter.safeParse(value).success;
    expect(["1", "60", "120"].filter((value) => !accepts(value))).toEqual([]);
    expect(["", "0", "-1", "01", "1.5", " 1", "1s", "soon", 1, null].filter(accepts)).toEqual([]);
  });
});
