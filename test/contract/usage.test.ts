import { describe } from "vitest";
import { Capability, CapabilitySet, QuotaBucket, UsageBucket, UsageSummary } from "../../src/contract/usage.ts";
import { proves } from "../proves.ts";
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
  const usage = objectUnderTest(UsageSummary, samples.usageSummary);
  proves(["2.2/all-fields-required", "2.2/closed-objects"], "has exactly its fields", usage.isExactlyItsFields());
  proves(
    ["2.2/workspace-style-workspace-id", "2.2/workspace-style-id"],
    "workspaceId",
    usage.fields({ workspaceId: workspaceStyleId }),
  );
  proves("2.2/sandbox-environment", "environment", usage.fields({ environment: constant("SANDBOX") }));
  proves("2.2/usage-window", "window", usage.fields({ window: oneOf("DAY", "ENTITLEMENT") }));
  proves(
    ["2.2/usage-dates", "2.2/date-time"],
    "observedAt, activatedAt, expiresAt",
    usage.fields({ observedAt: dateTime, activatedAt: dateTime, expiresAt: dateTime }),
  );
  proves("2.2/usage-quota-scope", "quotaScope", usage.fields({ quotaScope: constant("ORGANIZATION_SHARED") }));
  proves("2.2/usage-entitlement-state", "entitlementState", usage.fields({ entitlementState: constant("ACTIVE") }));
  proves("2.2/usage-reset-timezone", "resetTimezone", usage.fields({ resetTimezone: oneOf("UTC", "Asia/Kolkata") }));
  proves("2.2/usage-buckets", "buckets", usage.fields({ buckets: list(0, 32, () => samples.usageBucket) }));
  usage.everyFieldHasARule();
});

describe("UsageBucket", () => {
  const bucket = objectUnderTest(UsageBucket, samples.usageBucket);
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
  proves(["2.2/all-fields-required", "2.2/closed-objects"], "has exactly its fields", bucket.isExactlyItsFields());
  proves("2.2/usage-bucket-metric", "metric", bucket.fields({ metric }));
  proves("2.2/usage-bucket-unit", "unit", bucket.fields({ unit: nullable(oneOf("COUNT", "BYTE")) }));
  proves(
    "2.2/usage-bucket-unit-definition-state",
    "unitDefinitionState",
    bucket.fields({ unitDefinitionState: oneOf("DEFINED", "NOT_CONFIGURED") }),
  );
  proves("2.2/usage-quota-scope", "quotaScope", bucket.fields({ quotaScope: constant("ORGANIZATION_SHARED") }));
  proves(
    "2.2/bucket-dates",
    "windowStart, windowEnd, resetAt, expiresAt",
    bucket.fields({
      windowStart: dateTime,
      windowEnd: dateTime,
      resetAt: nullable(dateTime),
      expiresAt: dateTime,
    }),
  );
  proves(
    "2.2/usage-bucket-amounts",
    "granted, used, reserved, remaining",
    bucket.fields({
      granted: decimalAmount,
      used: decimalAmount,
      reserved: decimalAmount,
      remaining: decimalAmount,
    }),
  );
  bucket.everyFieldHasARule();
});

describe("CapabilitySet", () => {
  const set = objectUnderTest(CapabilitySet, samples.capabilitySet);
  proves(["2.2/all-fields-required", "2.2/closed-objects"], "has exactly its fields", set.isExactlyItsFields());
  proves(
    "2.2/capability-set-identity",
    "workspaceId, environment",
    set.fields({ workspaceId: text(1, 128), environment: oneOf("SANDBOX", "PRODUCTION") }),
  );
  proves(
    "2.2/capability-set-arrays",
    "capabilities, limits",
    set.fields({
      capabilities: list(0, 100, () => samples.capability),
      limits: list(0, 32, () => samples.quotaBucket),
    }),
  );
  set.everyFieldHasARule();
});

describe("Capability", () => {
  const capability = objectUnderTest(Capability, samples.capability);
  proves(["2.2/all-fields-required", "2.2/closed-objects"], "has exactly its fields", capability.isExactlyItsFields());
  proves(
    "2.2/capability-names",
    "kind, operation, version",
    capability.fields({ kind: text(1, 80), operation: text(1, 80), version: text(1, 80) }),
  );
  proves(
    "2.2/capability-support-level",
    "supportLevel",
    capability.fields({ supportLevel: oneOf("RAW_ONLY", "EXTRACT", "NORMALIZE", "PUBLISH_READY_FOR_RECIPE") }),
  );
  proves("2.2/capability-enabled", "enabled", capability.fields({ enabled: boolean }));
  proves(
    "2.2/capability-prerequisite-and-evidence",
    "prerequisite",
    capability.fields({ prerequisite: nullable(text(1, 1000)) }),
  );
  proves(
    "2.2/capability-prerequisite-and-evidence",
    "evidenceRef",
    capability.fields({ evidenceRef: nullable(text(1, 128)) }),
  );
  proves(
    "2.2/capability-max-bytes-and-rows",
    "maxInputBytes, maxRows",
    capability.fields({ maxInputBytes: integer(0, MAX_SAFE), maxRows: integer(0, MAX_SAFE) }),
  );
  proves("2.2/capability-max-pages", "maxPages", capability.fields({ maxPages: integer(0, 100_000) }));
  proves("2.2/capability-languages", "languages", capability.fields({ languages: textList(0, 32, text(1, 32)) }));
  capability.everyFieldHasARule();
});

describe("QuotaBucket", () => {
  const bucket = objectUnderTest(QuotaBucket, samples.quotaBucket);
  const amount = integer(0, MAX_SAFE);
  proves(["2.2/all-fields-required", "2.2/closed-objects"], "has exactly its fields", bucket.isExactlyItsFields());
  proves("2.2/quota-bucket-unit", "unit", bucket.fields({ unit: text(1, 80) }));
  proves(
    "2.2/bucket-dates",
    "windowStart, windowEnd, resetAt, expiresAt",
    bucket.fields({
      windowStart: dateTime,
      windowEnd: dateTime,
      resetAt: nullable(dateTime),
      expiresAt: dateTime,
    }),
  );
  proves(
    "2.2/quota-bucket-amounts",
    "granted, used, reserved, remaining",
    bucket.fields({ granted: amount, used: amount, reserved: amount, remaining: amount }),
  );
  bucket.everyFieldHasARule();
});
