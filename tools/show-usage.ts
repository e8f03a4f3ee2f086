// This module defines show_usage, which shows the usage of each quota to the user.
import * as z from "zod/v4";
import { getMicPublicUsage } from "../src/contract/endpoints/job-processing.ts";
import type { UsageSummary } from "../src/contract/usage.ts";
import { say } from "../src/core/text.ts";
import { defineTool } from "../src/toolkit/define-tool.ts";
import { describeUsage } from "../src/toolkit/describe/usage.ts";
import { outputs } from "../src/toolkit/outputs.ts";
import { resourceResult, toViewResult } from "../src/toolkit/results.ts";
import { readUsage } from "../src/toolkit/usage.ts";

const { workspaceId, window } = getMicPublicUsage.query.shape;

export const showUsage = defineTool({
  name: "show_usage",
  title: "Show usage",
  description: "Show the user each quota's used and remaining amounts as bars. To read them yourself, use get_usage.",
  effect: "read",
  view: "usage",
  input: z.strictObject({ workspaceId, window }),
  output: outputs.view<UsageSummary>(),
  async run(query, ctx) {
    const windows = await readUsage(query, ctx);
    // The view shows one window: if the API has no usage by MONTH, the longest.
    const read = await resourceResult(windows.at(-1) ?? windows[0], (usage) => describeUsage(usage, query.window), {
      view: "full",
    });
    return toViewResult(read, say`The user sees these quotas.`);
  },
});
