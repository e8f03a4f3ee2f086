// The rules of sections 2 and 3 for inputs, recipes, processing requests, usage and capabilities, held against every one.
import { expect } from "vitest";
import { proves } from "../proves.ts";
import { at } from "./http.ts";
import {
  amount,
  both,
  dateTime,
  decimalVersion,
  expectAll,
  hex64,
  isBoolean,
  isObject,
  isUnique,
  like,
  list,
  oneOf,
  orNull,
  prefixed,
  text,
  utcInstant,
  whole,
  workspaceStyleId,
} from "./rules.ts";
import { samplesForFile, seen, within } from "./samples.ts";

const { allDefinitions, allInputs, allOffers, allParameters, allRequests, allRequirements, dataOf } = samplesForFile();

const safe = 9007199254740991;
const id = text(1, 128);
const environment = oneOf("SANDBOX", "PRODUCTION");

proves(
  [
    "2.2/input-ids",
    "2.2/environment",
    "2.2/input-resource-version",
    "2.2/input-expires-at",
    "2.2/input-kind",
    "2.2/input-sha256",
    "2.2/input-classification",
    "2.2/hex",
    "3/input-state",
    "3/input-scan-state",
  ],
  "Input",
  () => {
    expectAll(allInputs(), {
      id: prefixed("micinput_"),
      workspaceId: id,
      environment,
      state: oneOf("WAITING_SCAN", "READY", "QUARANTINED", "EXPIRED", "WITHDRAWN"),
      resourceVersion: like(/^[1-9]\d{0,18}$/),
      createdAt: dateTime,
      updatedAt: dateTime,
      inputKind: oneOf("M4_FILE", "ACQUISITION", "DATASET_VERSION"),
      referenceId: id,
      sha256: hex64,
      scanState: oneOf("PENDING", "CLEAN", "INFECTED", "UNAVAILABLE", "STALE", "NOT_APPLICABLE"),
      classification: text(1, 80),
      expiresAt: orNull(dateTime),
    });
    expect(seen(allInputs(), "state")).toEqual(expect.arrayContaining(["QUARANTINED", "READY", "WAITING_SCAN"]));
  },
);

proves(
  [
    "2.2/processing-request-id",
    "2.2/processing-request-source-origin",
    "2.2/workspace-style-workspace-id",
    "2.2/processing-request-input-id",
    "2.2/processing-request-recipe-version-id",
    "2.2/processing-request-revision",
    "2.2/processing-request-hashes",
    "2.2/processing-request-reason-code",
    "2.2/processing-request-instants",
    "2.2/processing-request-instants-valid",
    "3/processing-request-state",
  ],
  "ProcessingRequest",
  () =>
    expectAll(allRequests(), {
      id: both(text(49, 49), prefixed("micsharedrequest_")),
      sourceOrigin: oneOf("SHARED_FILE_REQUEST"),
      workspaceId: workspaceStyleId,
      inputId: both(text(41, 41), prefixed("micinput_")),
      recipeVersionId: both(text(43, 43), prefixed("micrecipev_")),
      state: oneOf("SUBMITTED", "REVIEWABLE", "APPROVED", "REJECTED", "REVOKED"),
      revision: whole(1, 9223372036854775807n),
      requestHash: hex64,
      reviewHash: orNull(hex64),
      reasonCode: orNull(
        oneOf(
          "REVIEWED_PROCESSING_PURPOSE",
          "PURPOSE_NOT_ALLOWED",
          "SOURCE_NOT_ELIGIBLE",
          "ACCESS_NO_LONGER_REQUIRED",
          "SECURITY_REVOKED",
        ),
      ),
      createdAt: utcInstant,
      expiresAt: utcInstant,
    }),
);

proves(
  [
    "1/offers-reference-only",
    "2.2/offer-id",
    "2.2/workspace-style-workspace-id",
    "2.2/sandbox-environment",
    "2.2/offer-resource-version",
    "2.2/offer-recipe",
    "2.2/offer-dates",
    "2.2/offer-projection-size",
  ],
  "RecipeOffer",
  () => {
    expectAll(allOffers(), {
      id: both(text(41, 41), prefixed("micoffer_")),
      workspaceId: workspaceStyleId,
      environment: oneOf("SANDBOX"),
      resourceVersion: decimalVersion,
      recipe: isObject,
      availability: oneOf("REVIEWED_REFERENCE"),
      executionAvailable: oneOf(false),
      approvedAt: dateTime,
      expiresAt: dateTime,
    });
    for (const offer of allOffers()) expect(Buffer.byteLength(JSON.stringify(offer))).toBeLessThanOrEqual(65536);
  },
);

proves(
  [
    "2.2/recipe-ids",
    "2.2/recipe-version-hash",
    "2.2/recipe-name",
    "2.2/recipe-inputs",
    "2.2/recipe-parameters",
    "2.2/recipe-required-permissions",
    "2.2/recipe-required-permission-form",
    "2.2/recipe-stop-after-stage",
  ],
  "RecipeDefinition",
  () =>
    expectAll(allDefinitions(), {
      recipeId: prefixed("micrecipe_"),
      versionId: both(text(43, 43), prefixed("micrecipev_")),
      versionHash: hex64,
      name: text(1, 160),
      inputs: list(1, 100, isObject),
      parameters: isObject,
      requiredPermissions: both(list(0, 200, both(text(1, 128), like(/^[A-Za-z0-9_.-]+:[A-Za-z0-9_.-]+$/))), isUnique),
      stopAfterStage: oneOf("SIFT", "REFINE", "BLEND", "CHURN", "TASTE", "FREEZE"),
    }),
);

proves(
  [
    "2.2/workspace-style-id",
    "2.2/input-requirement-ids",
    "2.2/input-requirement-value-state",
    "2.2/recipe-parameters-identity",
    "2.2/recipe-parameters-definition",
    "2.2/recipe-parameters-references",
  ],
  "InputRequirement and RecipeParameters, some of them with references",
  () => {
    expectAll(allRequirements(), {
      name: workspaceStyleId,
      schemaVersionId: workspaceStyleId,
      valueState: oneOf("RAW", "EXTRACTED", "NORMALIZED", "MATCHED", "DERIVED"),
      schema: isObject,
    });
    expectAll(allParameters(), {
      versionId: workspaceStyleId,
      contentHash: hex64,
      definition: isObject,
      references: (value) =>
        isObject(value) &&
        Object.keys(value).length <= 200 &&
        Object.keys(value).every(workspaceStyleId) &&
        Object.values(value).every(isObject),
    });
    const counts = allParameters().map((parameters) => Object.keys(Object(at(parameters, "references"))).length);
    expect(Math.max(...counts)).toBeGreaterThan(0);
  },
);

proves(
  [
    "2.2/workspace-style-workspace-id",
    "2.2/sandbox-environment",
    "2.2/usage-window",
    "2.2/usage-dates",
    "2.2/usage-quota-scope",
    "2.2/usage-entitlement-state",
    "2.2/usage-reset-timezone",
    "2.2/usage-buckets",
    "2.2/usage-bucket-metric",
    "2.2/usage-bucket-unit",
    "2.2/usage-bucket-unit-definition-state",
    "2.2/bucket-dates",
    "2.2/usage-bucket-amounts",
  ],
  "UsageSummary and UsageBucket",
  () => {
    expectAll(dataOf("getMicPublicUsage"), {
      workspaceId: workspaceStyleId,
      environment: oneOf("SANDBOX"),
      window: oneOf("DAY", "ENTITLEMENT"),
      observedAt: dateTime,
      quotaScope: oneOf("ORGANIZATION_SHARED"),
      entitlementState: oneOf("ACTIVE"),
      resetTimezone: oneOf("UTC", "Asia/Kolkata"),
      activatedAt: dateTime,
      expiresAt: dateTime,
      buckets: list(1, 32, isObject),
    });
    expectAll(within(dataOf("getMicPublicUsage"), "buckets"), {
      metric: like(/^[A-Z][A-Z0-9_]{0,79}$/),
      unit: oneOf("COUNT", "BYTE", null),
      unitDefinitionState: oneOf("DEFINED", "NOT_CONFIGURED"),
      quotaScope: oneOf("ORGANIZATION_SHARED"),
      windowStart: dateTime,
      windowEnd: dateTime,
      granted: amount,
      used: amount,
      reserved: amount,
      remaining: amount,
      resetAt: orNull(dateTime),
      expiresAt: dateTime,
    });
  },
);

proves(
  [
    "2.2/capability-set-identity",
    "2.2/capability-set-arrays",
    "2.2/capability-names",
    "2.2/capability-support-level",
    "2.2/capability-enabled",
    "2.2/capability-prerequisite-and-evidence",
    "2.2/capability-max-bytes-and-rows",
    "2.2/capability-max-pages",
    "2.2/capability-languages",
    "2.2/quota-bucket-unit",
    "2.2/bucket-dates",
    "2.2/quota-bucket-amounts",
    "8/workspace-limits-as-data",
  ],
  "CapabilitySet, Capability and QuotaBucket",
  () => {
    const sets = dataOf("getMicPublicCapabilities");
    expectAll(sets, {
      workspaceId: id,
      environment,
      capabilities: list(1, 100, isObject),
      limits: list(1, 32, isObject),
    });
    expectAll(within(sets, "capabilities"), {
      kind: text(1, 80),
      operation: text(1, 80),
      version: text(1, 80),
      supportLevel: oneOf("RAW_ONLY", "EXTRACT", "NORMALIZE", "PUBLISH_READY_FOR_RECIPE"),
      enabled: isBoolean,
      prerequisite: orNull(text(1, 1000)),
      evidenceRef: orNull(text(1, 128)),
      maxInputBytes: whole(0, safe),
      maxRows: whole(0, safe),
      maxPages: whole(0, 100000),
      languages: list(0, 32, text(1, 32)),
    });
    const units = whole(0, safe);
    expectAll(within(sets, "limits"), {
      unit: text(1, 80),
      windowStart: dateTime,
      windowEnd: dateTime,
      granted: units,
      used: units,
      reserved: units,
      remaining: units,
      resetAt: orNull(dateTime),
      expiresAt: dateTime,
    });
  },
);
