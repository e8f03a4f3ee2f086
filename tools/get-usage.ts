import { outputs, resourceResult } from "../src/catalogue/results.ts";
import { defineTool } from "../src/catalogue/tool.ts";
import { getMicPublicUsage } from "../src/contract/endpoints/job-processing.ts";

export const getUsage = defineTool({
  endpoint: getMicPublicUsage,
  name: "get_usage",
  title: "Get usage",
  description:
    "What the organization was granted, has used, reserved and has left, by metric. Amounts are decimal strings.",
  effect: "read",
  input: getMicPublicUsage.query,
  output: outputs.resource,
  async run(query, { service, context }) {
    return resourceResult(await service.call(getMicPublicUsage, { query }, context));
  },
});
