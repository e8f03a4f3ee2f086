import { getMicPublicUsage } from "../src/contract/endpoints/job-processing.ts";
import type { UsageSummary } from "../src/contract/usage.ts";
import { defineTool } from "../src/toolkit/define-tool.ts";
import { outputs } from "../src/toolkit/outputs.ts";
import { resourceResult } from "../src/toolkit/results.ts";

export const getUsage = defineTool({
  endpoint: getMicPublicUsage,
  name: "get_usage",
  title: "Get usage",
  description:
    "What the organization was granted, has used, reserved and has left, by metric. Amounts are decimal strings.",
  effect: "read",
  input: getMicPublicUsage.query,
  output: outputs.summarized<UsageSummary>(),
  async run(query, { context }, { service }) {
    const answer = await service.call(getMicPublicUsage, { query }, context);
    const { window } = answer.value.data;
    // A summary cannot say MONTH, and nothing ties the window of the answer to the one asked for (doubt 1).
    const other = `Usage by ${query.window} was asked for; this is the usage by ${window}.`;
    return resourceResult(answer, undefined, window === query.window ? undefined : other);
  },
});
