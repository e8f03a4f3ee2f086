// This module defines the UsageSummary and CapabilitySet resources and their parts (docs/contract.md, 2.2).
import * as z from "zod/v4";
import { Environment } from "./jobs.ts";
import { chars, dateTime, decimalAmount, integer, listed, MAX_SAFE, workspaceStyleId } from "./scalars.ts";

export const UsageBucket = z.strictObject({
  metric: z.string().regex(/^[A-Z][A-Z0-9_]{0,79}$/, {
    error: "must be 1-80 characters: an uppercase letter, then uppercase letters, digits or _",
  }),
  unit: listed(["COUNT", "BYTE"]).nullable(),
  unitDefinitionState: listed(["DEFINED", "NOT_CONFIGURED"]),
  quotaScope: listed(["ORGANIZATION_SHARED"]),
  windowStart: dateTime,
  windowEnd: dateTime,
  granted: decimalAmount,
  used: decimalAmount,
  reserved: decimalAmount,
  remaining: decimalAmount,
  resetAt: dateTime.nullable(),
  expiresAt: dateTime,
});
export type UsageBucket = z.infer<typeof UsageBucket>;

export const UsageSummary = z.strictObject({
  workspaceId: workspaceStyleId,
  environment: listed(["SANDBOX"]),
  window: listed(["DAY", "ENTITLEMENT"]),
  observedAt: dateTime,
  quotaScope: listed(["ORGANIZATION_SHARED"]),
  entitlementState: listed(["ACTIVE"]),
  resetTimezone: listed(["UTC", "Asia/Kolkata"]),
  activatedAt: dateTime,
  expiresAt: dateTime,
  buckets: z.array(UsageBucket).max(32),
});
export type UsageSummary = z.infer<typeof UsageSummary>;

export const Capability = z.strictObject({
  kind: chars(1, 80),
  operation: chars(1, 80),
  version: chars(1, 80),
  supportLevel: listed(["RAW_ONLY", "EXTRACT", "NORMALIZE", "PUBLISH_READY_FOR_RECIPE"]),
  enabled: z.boolean(),
  prerequisite: chars(1, 1000).nullable(),
  evidenceRef: chars(1, 128).nullable(),
  maxInputBytes: integer(0, MAX_SAFE),
  maxRows: integer(0, MAX_SAFE),
  maxPages: integer(0, 100000),
  languages: z.array(chars(1, 32)).max(32),
});
export type Capability = z.infer<typeof Capability>;

export const QuotaBucket = z.strictObject({
  unit: chars(1, 80),
  windowStart: dateTime,
  windowEnd: dateTime,
  granted: integer(0, MAX_SAFE),
  used: integer(0, MAX_SAFE),
  reserved: integer(0, MAX_SAFE),
  remaining: integer(0, MAX_SAFE),
  resetAt: dateTime.nullable(),
  expiresAt: dateTime,
});
export type QuotaBucket = z.infer<typeof QuotaBucket>;

export const CapabilitySet = z.strictObject({
  workspaceId: chars(1, 128),
  environment: Environment,
  capabilities: z.array(Capability).max(100),
  limits: z.array(QuotaBucket).max(32),
});
export type CapabilitySet = z.infer<typeof CapabilitySet>;
