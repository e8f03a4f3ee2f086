// This module describes usage and capabilities, both of which contain quotas.

import type { CapabilitySet, QuotaBucket, UsageBucket, UsageSummary } from "../../contract/usage.ts";
import { groupDigits } from "../../core/counts.ts";
import { join, own, raw, say, type Text } from "../../core/text.ts";
import type { Description } from "../results.ts";
import { extractSharedFields, outOf, toSummaryFields } from "../summary-view.ts";

const isConfigured = ({ unitDefinitionState }: UsageBucket): boolean => unitDefinitionState === "DEFINED";

/** "Left today / in the entitlement, which ends 2102-01-15: JOBS_SUBMITTED 999,996 / 99,999,870; …." One amount for each window. */
export function leftText(windows: readonly UsageSummary[]): Text {
  const metrics = new Map<string, (UsageBucket | undefined)[]>();
  for (const [index, { buckets }] of windows.entries())
    for (const bucket of buckets) {
      const amounts = metrics.get(bucket.metric) ?? windows.map(() => undefined);
      if (isConfigured(bucket)) amounts[index] = bucket;
      metrics.set(bucket.metric, amounts);
    }
  const names = windows.map(({ window, expiresAt }) =>
    window === "DAY" ? own("today") : say`in the entitlement, which ends ${expiresAt.slice(0, 10)}`,
  );
  const [limited, others]: [Text[], string[]] = [[], []];
  for (const [metric, amounts] of metrics) {
    const texts = amounts.map((bucket) => (bucket ? raw(groupDigits(bucket.remaining)) : own("no quota")));
    const isBytes = amounts.some((bucket) => bucket?.unit === "BYTE");
    if (amounts.every((bucket) => bucket === undefined)) others.push(metric);
    else limited.push(say`${metric} ${join(texts, " / ")}${isBytes && own(" bytes")}`);
  }
  return join([
    limited.length > 0 ? say`Left ${join(names, " / ")}: ${join(limited, "; ")}.` : say`The API returns no quota.`,
    others.length > 0 && say`No quota: ${join(others, ", ")}.`,
  ]);
}

/** `requestedWindow`: the window in the call, which the response may not have (open question 1). */
export function describeUsage(usage: UsageSummary, requestedWindow: string): Description {
  const { window, observedAt, resetTimezone, expiresAt, buckets } = usage;
  const other = window !== requestedWindow && say`The API returned usage by ${window}, not by ${requestedWindow}.`;
  const others = buckets.filter((bucket) => !isConfigured(bucket)).map(({ metric }) => metric);
  return {
    summary: join([other, leftText([usage])]),
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
