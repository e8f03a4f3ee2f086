// This module describes usage and capabilities, both of which contain quotas.

import type { CapabilitySet, QuotaBucket, UsageBucket, UsageSummary } from "../../contract/usage.ts";
import { groupDigits } from "../../core/counts.ts";
import { join, own, raw, say, type Text } from "../../core/text.ts";
import type { Description } from "../results.ts";
import { extractSharedFields, outOf, toSummaryFields } from "../summary-view.ts";

const isConfigured = ({ unitDefinitionState }: UsageBucket): boolean => unitDefinitionState === "DEFINED";

/** Names the metrics without a quota; undefined if there are none. */
export const noQuotaText = (buckets: readonly Pick<UsageBucket, "metric">[]): Text | undefined =>
  buckets.length === 0
    ? undefined
    : say`No quota: ${join(
        buckets.map(({ metric }) => metric),
        ", ",
      )}.`;

/** Returns the remaining amounts: "JOBS_SUBMITTED: 999,891 of 1,000,000 left today; …". */
function usageText({ window, buckets }: UsageSummary): Text {
  const configured = buckets.filter(isConfigured);
  const others = buckets.filter((bucket) => !isConfigured(bucket));
  const left = own(window === "DAY" ? " left today" : " left in the entitlement");
  const amounts = configured.map(({ metric, remaining, granted, unit }, index) => {
    const amount = outOf(raw(groupDigits(remaining)), raw(groupDigits(granted)));
    return say`${metric}: ${amount}${unit === "BYTE" && own(" bytes")}${index === 0 && left}`;
  });
  if (buckets.length === 0) return say`The API returns no quota by ${window}.`;
  return join([amounts.length > 0 && say`${join(amounts, "; ")}.`, noQuotaText(others)]);
}

/** `requestedWindow`: the window in the call, which the response may not have (open question 1). */
export function describeUsage(usage: UsageSummary, requestedWindow: string): Description {
  const { window, observedAt, resetTimezone, expiresAt, buckets } = usage;
  const other = window !== requestedWindow && say`The API returned usage by ${window}, not by ${requestedWindow}.`;
  const others = buckets.filter((bucket) => !isConfigured(bucket)).map(({ metric }) => metric);
  return {
    summary: join([other, usageText(usage)]),
    fields: {
      window,
      ...toSummaryFields({ observedAt, resetTimezone, expiresAt }),
      buckets: extractSharedFields(buckets.filter(isConfigured).map(toAmountSummary)),
      ...toSummaryFields({ notConfigured: others }),
    },
  };
}

/** Includes `granted` only if it is not the sum of `used`, `reserved` and `remaining`. */
function toAmountSummary({ unit, unitDefinitionState, quotaScope, granted, ...rest }: UsageBucket) {
  const isSum = BigInt(granted) === BigInt(rest.used) + BigInt(rest.reserved) + BigInt(rest.remaining);
  return {
    ...toSummaryFields({ ...rest, ...(!isSum && { granted }) }, { reserved: "0" }),
    ...(unit !== "COUNT" && { unit }),
  };
}

function toLimitSummary({ granted, ...rest }: QuotaBucket): Readonly<Record<string, unknown>> {
  const isSum = granted === rest.used + rest.reserved + rest.remaining;
  return toSummaryFields({ ...rest, ...(!isSum && { granted }) }, { reserved: 0 });
}

export const describeCapabilities = ({ environment, capabilities, limits }: CapabilitySet): Description => ({
  summary: say`${outOf(capabilities.filter(({ enabled }) => enabled).length, capabilities.length)} capabilities are enabled. The limits field lists the quotas.`,
  fields: {
    environment,
    capabilities: extractSharedFields(
      capabilities.map(({ evidenceRef, version, ...rest }) =>
        toSummaryFields(rest, { enabled: true, maxPages: 0, maxRows: 0 }),
      ),
    ),
    limits: extractSharedFields(limits.map(toLimitSummary)),
  },
});
