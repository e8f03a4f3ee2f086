// This module reads the usage of quotas. The API may refuse the window MONTH (open question 1): then the windows that it has are read.
import { getMicPublicUsage } from "../contract/endpoints/job-processing.ts";
import type { UsageSummary } from "../contract/usage.ts";
import { Failure } from "../core/failure.ts";
import { describeUsage, usageText } from "./describe/usage.ts";
import { compactJson, type ReadAnswer, resourceResult, type ToolResult, toolResult, type View } from "./results.ts";
import type { ToolContext } from "./tool-context.ts";

interface UsageQuery {
  readonly workspaceId: string;
  readonly window: "DAY" | "MONTH" | "ENTITLEMENT";
}

/** The windows that were read: the requested one, or those that the API has instead of MONTH. */
type Windows = readonly [ReadAnswer<UsageSummary>, ...ReadAnswer<UsageSummary>[]];

/** Throws Failure. */
export async function readUsage(query: UsageQuery, ctx: ToolContext): Promise<Windows> {
  const read = (window: UsageQuery["window"]) => ctx.api.call(getMicPublicUsage, { query: { ...query, window } }, ctx);
  try {
    return [await read(query.window)];
  } catch (error) {
    if (query.window !== "MONTH" || !(error instanceof Failure) || error.facts.kind !== "rejected") throw error;
    return await Promise.all([read("DAY"), read("ENTITLEMENT")]);
  }
}

/** Several windows are in `data.windows`. */
export async function usageResult(
  [first, ...others]: Windows,
  { window }: UsageQuery,
  view: View | undefined,
  ctx: ToolContext,
): Promise<ToolResult<UsageSummary>> {
  if (others.length === 0) return await resourceResult(first, (usage) => describeUsage(usage, window), ctx, { view });
  const all = [first, ...others].map(({ value }) => value.data);
  // The longest window is closest to a month.
  const longest = usageText(all.at(-1) ?? first.value.data);
  const windows = all.map((usage) => (view === "full" ? usage : describeUsage(usage, window).fields));
  return toolResult(ctx, first.value.data, {
    summary: `The API has no usage by ${window}: ${all.map((usage) => usage.window).join(" and ")} follow. ${longest}`,
    fields: { data: { windows } },
    requestId: first.value.meta.requestId,
    lines: windows.map(compactJson),
    drift: first.drift,
  });
}
