// This module defines wait_for_jobs, which waits until all or any of several jobs stop.
import * as z from "zod/v4";
import { jobIds, longWaitSeconds } from "../src/toolkit/arguments.ts";
import { defineTool } from "../src/toolkit/define-tool.ts";
import { waitForMany } from "../src/toolkit/jobs/waiting.ts";
import { outputs } from "../src/toolkit/outputs.ts";

export const waitForJobs = defineTool({
  name: "wait_for_jobs",
  title: "Wait for several jobs to finish",
  description: "Wait until all or any of several jobs end, pause or need a review. Returns their states and failures.",
  searchHint: "until finished, done",
  effect: "read",
  input: z.strictObject({ jobIds, until: z.enum(["all", "any"]).optional(), waitSeconds: longWaitSeconds }),
  output: outputs.answer({ jobs: outputs.list, running: outputs.integer }),
  run: waitForMany,
});
