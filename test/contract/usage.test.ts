import { describe } from "vitest";
import { Capability, CapabilitySet, QuotaBucket, UsageBucket, UsageSummary } from "../../src/contract/usage.ts";
import {
  anyText,
  boolean,
  constant,
  dateTime,
  decimalAmount,
  integer,
  list,
  MAX_SAFE,
  nullable,
  oneOf,
  text,
  textList,
  workspaceStyleId,
} from "./field-rules.ts";
import { objectUnderTest } from "./object-rules.ts";
import * as samples from "./samples.ts";

describe("UsageSummary", () => {
  const { proves } = objectUnderTest(UsageSummary, samples.usageSummary);
  proves(["2.2/all-fields-required", "2.2/closed-objects"], "has exactly its fields");
  proves(["2.2/workspace-style-workspace-id", "2.2/workspace-style-id"], { workspaceId: workspaceStyleId });
  proves("2.2/sandbox-environment", { environment: constant("SANDBOX") });
  proves("2.2/usage-window", { window: oneOf("DAY", "ENTITLEMENT") });
  proves(["2.2/usage-dates", "2.2/date-time"], { observedAt: dateTime, activatedAt: dateTime, expiresAt: dateTime });
  proves("2.2/usage-quota-scope", { quotaScope: constant("ORGANIZATION_SHARED") });
  proves("2.2/usage-entitlement-state", { entitlementState: constant("ACTIVE") });
  proves("2.2/usage-reset-timezone", { resetTimezone: oneOf("UTC", "Asia/Kolkata") });
  proves("2.2/usage-buckets", { buckets: list(0, 32, () => samples.usageBucket) });
});

describe("UsageBucket", () => {
  const { proves } = objectUnderTest(UsageBucket, samples.usageBucket);
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
      "É",
      "A\n",
      "A".repeat(81),
      ...anyText.refuses,
    ],
  };
  proves(["2.2/all-fields-required", "2.2/closed-objects"], "has exactly its fields");
  proves("2.2/usage-bucket-metric", { metric });
  proves("2.2/usage-bucket-unit", { unit: nullable(oneOf("COUNT", "BYTE")) });
  proves("2.2/usage-bucket-unit-definition-state", { unitDefinitionState: oneOf("DEFINED", "NOT_CONFIGURED") });
  proves("2.2/usage-quota-scope", { quotaScope: constant("ORGANIZATION_SHARED") });
  proves("2.2/bucket-dates", {
    windowStart: dateTime,
    windowEnd: dateTime,
    resetAt: nullable(dateTime),
    expiresAt: dateTime,
  });
  proves("2.2/usage-bucket-amounts", {
    granted: decimalAmount,
    used: decimalAmount,
    reserved: decimalAmount,
    remaining: decimalAmount,
  });
});

describe("CapabilitySet", () => {
  const { proves } = objectUnderTest(CapabilitySet, samples.capabilitySet);
  proves(["2.2/all-fields-required", "2.2/closed-objects"], "has exactly its fields");
  proves("2.2/capability-set-identity", { workspaceId: text(1, 128), environment: oneOf("SANDBOX", "PRODUCTION") });
  proves("2.2/capability-set-arrays", {
    capabilities: list(0, 100, () => samples.capability),
    limits: list(0, 32, () => samples.quotaBucket),
  });
});

describe("Capability", () => {
  const { proves } = objectUnderTest(Capability, samples.capability);
  proves(["2.2/all-fields-required", "2.2/closed-objects"], "has exactly its fields");
  proves("2.2/capability-names", { kind: text(1, 80), operation: text(1, 80), version: text(1, 80) });
  proves("2.2/capability-support-level", {
    supportLevel: oneOf("RAW_ONLY", "EXTRACT", "NORMALIZE", "PUBLISH_READY_FOR_RECIPE"),
  });
  proves("2.2/capability-enabled", { enabled: boolean });
  proves("2.2/capability-prerequisite-and-evidence", { prerequisite: nullable(text(1, 1000)) });
  proves("2.2/capability-prerequisite-and-evidence", { evidenceRef: nullable(text(1, 128)) });
  proves("2.2/capability-max-bytes-and-rows", { maxInputBytes: integer(0, MAX_SAFE), maxRows: integer(0, MAX_SAFE) });
  proves("2.2/capability-max-pages", { maxPages: integer(0, 100_000) });
  proves("2.2/capability-languages", { languages: textList(0, 32, text(1, 32)) });
});

describe("QuotaBucket", () => {
  const { proves } = objectUnderTest(QuotaBucket, samples.quotaBucket);
  const amount = integer(0, MAX_SAFE);
  proves(["2.2/all-fields-required", "2.2/closed-objects"], "has exactly its fields");
  proves("2.2/quota-bucket-unit", { unit: text(1, 80) });
  proves("2.2/bucket-dates", {
    windowStart: dateTime,
    windowEnd: dateTime,
    resetAt: nullable(dateTime),
    expiresAt: dateTime,
  });
  proves("2.2/quota-bucket-amounts", { granted: amount, used: amount, reserved: amount, remaining: amount });
});
