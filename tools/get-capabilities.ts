// This module defines get_capabilities, which returns what a workspace may process and the limits of a job.
import * as z from "zod/v4";
import { getMicPublicCapabilities } from "../src/contract/endpoints/job-processing.ts";
import type { CapabilitySet } from "../src/contract/usage.ts";
import { view } from "../src/toolkit/arguments.ts";
import { defineTool } from "../src/toolkit/define-tool.ts";
import { describeCapabilities } from "../src/toolkit/describe/usage.ts";
import { outputs } from "../src/toolkit/outputs.ts";
import { resourceResult } from "../src/toolkit/results.ts";

export const getCapabilities = defineTool({
  endpoint: getMicPublicCapabilities,
  name: "get_capabilities",
  title: "Get workspace capabilities and job limits",
  description:
    "Get what the workspace can process and its limits for a job: bytes, rows, pages. For quotas use get_usage.",
  effect: "read",
  input: z.strictObject({ workspaceId: getMicPublicCapabilities.query.shape.workspaceId, view }),
  output: outputs.resource<CapabilitySet>(),
  async run({ view, ...query }, ctx) {
    const answer = await ctx.api.call(getMicPublicCapabilities, { query }, ctx);
    return await resourceResult(answer, describeCapabilities, { view });
  },
});
