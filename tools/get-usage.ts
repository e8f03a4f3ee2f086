// This module defines get_usage, which returns the used and remaining amounts of each quota.
import * as z from "zod/v4";
import { getMicPublicUsage } from "../src/contract/endpoints/job-processing.ts";
import type { UsageSummary } from "../src/contract/usage.ts";
import { view } from "../src/toolkit/arguments.ts";
import { defineTool } from "../src/toolkit/define-tool.ts";
import { outputs } from "../src/toolkit/outputs.ts";
import { readUsage, usageResult } from "../src/toolkit/usage.ts";

const { workspaceId, window } = getMicPublicUsage.query.shape;

export const getUsage = defineTool({
  endpoint: getMicPublicUsage,
  name: "get_usage",
  title: "Get usage: quota and remaining budget",
  description: "Get what is left of the organization's usage quotas. With a window: used, reserved, remaining.",
  searchHint: "quota, budget, limit, remaining",
  effect: "read",
  input: z.strictObject({
    workspaceId,
    window: window.describe("Default: today and entitlement.").optional(),
    view,
  }),
  output: outputs.resource<UsageSummary>(),
  async run({ view, ...query }, ctx) {
    return await usageResult(await readUsage(query, ctx), query, view);
  },
});
