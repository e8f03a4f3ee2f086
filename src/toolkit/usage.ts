// Reads quotas of one window, or the amounts left in all windows that the API has. The API may refuse MONTH (open question 1).

import { getMicPublicUsage } from "../contract/endpoints/job-processing.ts";
import type { UsageSummary } from "../contract/usage.ts";
import { Failure } from "../core/failure.ts";
import { say } from "../core/text.ts";
import { describeUsage, leftText } from "./describe/usage.ts";
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
    summary: say`${leftText(windows)} The API reports no monthly window.`,
    fields: { data },
    ...{ requestId: first.value.meta.requestId, isFull: view === "full" },
    lines: [compactJson(data)],
    drift: first.drift,
  });
}
