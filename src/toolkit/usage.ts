// Reads quotas of one window, or the amounts left in all windows that the API has. The API may refuse MONTH (open question 1).

import { getMicPublicUsage } from "../contract/endpoints/job-processing.ts";
import type { UsageBucket, UsageSummary } from "../contract/usage.ts";
import { groupDigits } from "../core/counts.ts";
import { Failure } from "../core/failure.ts";
import { join, own, raw, say, type Text } from "../core/text.ts";
import { describeUsage, noQuotaText } from "./describe/usage.ts";
import { compactJson, type ReadAnswer, resourceResult, type ToolResult, toolResult, type View } from "./results.ts";
import { toSummaryFields } from "./summary-view.ts";
import type { ToolContext } from "./tool-context.ts";

interface UsageQuery {
  readonly workspaceId: string;
  /** Default: all windows that the API has. */
  readonly window?: "DAY" | "MONTH" | "ENTITLEMENT";
}

/** The windows that were read: the requested one, or DAY and ENTITLEMENT. */
type Windows = readonly [ReadAnswer<UsageSummary>, ...ReadAnswer<UsageSummary>[]];

/** Throws Failure. */
export async function readUsage({ workspaceId, window }: UsageQuery, ctx: ToolContext): Promise<Windows> {
  const read = (each: NonNullable<UsageQuery["window"]>) =>
    ctx.api.call(getMicPublicUsage, { query: { workspaceId, window: each } }, ctx);
  try {
    if (window !== undefined) return [await read(window)];
  } catch (error) {
    if (window !== "MONTH" || !(error instanceof Failure) || error.facts.kind !== "rejected") throw error;
  }
  return await Promise.all([read("DAY"), read("ENTITLEMENT")]);
}

/** "Left today / in the entitlement, which ends 2102-01-15: JOBS_SUBMITTED 999,996 / 99,999,870; …. The API reports no monthly window." */
function leftText(windows: readonly UsageSummary[]): Text {
  const metrics = new Map<string, (UsageBucket | undefined)[]>();
  for (const [index, { buckets }] of windows.entries())
    for (const bucket of buckets) {
      const amounts = metrics.get(bucket.metric) ?? windows.map(() => undefined);
      if (bucket.unitDefinitionState === "DEFINED") amounts[index] = bucket;
      metrics.set(bucket.metric, amounts);
    }
  const [ends = ""] = windows.map(({ expiresAt }) => expiresAt.slice(0, 10));
  const names = windows.map(({ window }) =>
    window === "DAY" ? own("today") : say`in the entitlement, which ends ${ends}`,
  );
  const isLimited = ([, amounts]: readonly [string, readonly (UsageBucket | undefined)[]]): boolean =>
    amounts.some((bucket) => bucket !== undefined);
  const left = [...metrics].filter(isLimited).map(([metric, amounts]) => {
    const texts = amounts.map((bucket) => (bucket ? raw(groupDigits(bucket.remaining)) : own("no quota")));
    return say`${metric} ${join(texts, " / ")}${amounts.some((bucket) => bucket?.unit === "BYTE") && own(" bytes")}`;
  });
  const others = [...metrics].filter((entry) => !isLimited(entry)).map(([metric]) => ({ metric }));
  return join([
    left.length > 0 ? say`Left ${join(names, " / ")}: ${join(left, "; ")}.` : say`The API returns no quota.`,
    noQuotaText(others),
    say`The API reports no monthly window.`,
  ]);
}

/** The full view of several windows has them in `data.windows`. */
export async function usageResult(
  [first, ...others]: Windows,
  { window = "DAY" }: UsageQuery,
  view: View | undefined,
): Promise<ToolResult<UsageSummary>> {
  if (others.length === 0) return await resourceResult(first, (usage) => describeUsage(usage, window), { view });
  const windows = [first, ...others].map(({ value }) => value.data);
  const { observedAt, resetTimezone, buckets } = first.value.data;
  const [resetAt = null] = buckets.flatMap((bucket) => bucket.resetAt ?? []);
  const data = view === "full" ? { windows } : toSummaryFields({ observedAt, resetTimezone, resetAt });
  return toolResult(first.value.data, {
    summary: leftText(windows),
    fields: { data },
    ...{ requestId: first.value.meta.requestId, isFull: view === "full" },
    lines: [compactJson(data)],
    drift: first.drift,
  });
}
