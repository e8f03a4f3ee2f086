import { outputs, resourceResult } from "../src/catalogue/results.ts";
import { defineTool } from "../src/catalogue/tool.ts";
import { getMicPublicCapabilities } from "../src/contract/endpoints/job-processing.ts";

export const getCapabilities = defineTool({
  endpoint: getMicPublicCapabilities,
  name: "get_capabilities",
  title: "Get workspace capabilities",
  description:
    "What the workspace can process: kinds and operations with support level, and the limits (bytes, rows, pages, " +
    "quotas) that a job must stay within.",
  effect: "read",
  input: getMicPublicCapabilities.query,
  output: outputs.resource,
  async run(query, { service, context }) {
    return resourceResult(await service.call(getMicPublicCapabilities, { query }, context));
  },
});
