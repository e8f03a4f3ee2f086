import { getMicPublicCapabilities } from "../src/contract/endpoints/job-processing.ts";
import type { CapabilitySet } from "../src/contract/usage.ts";
import { defineTool } from "../src/toolkit/define-tool.ts";
import { outputs } from "../src/toolkit/outputs.ts";
import { resourceResult } from "../src/toolkit/results.ts";

export const getCapabilities = defineTool({
  endpoint: getMicPublicCapabilities,
  name: "get_capabilities",
  title: "Get workspace capabilities",
  description: "What the workspace can process, and its limits (bytes, rows, pages, quotas) for a job.",
  effect: "read",
  input: getMicPublicCapabilities.query,
  output: outputs.resource<CapabilitySet>(),
  async run(query, { context }, { service }) {
    return resourceResult(await service.call(getMicPublicCapabilities, { query }, context));
  },
});
