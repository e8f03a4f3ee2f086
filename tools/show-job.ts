// This module defines show_job, which shows one job to the user in a view that updates itself.
import * as z from "zod/v4";
import { getMicJob } from "../src/contract/endpoints/job-processing.ts";
import type { Job } from "../src/contract/jobs.ts";
import { say } from "../src/core/text.ts";
import { defineTool } from "../src/toolkit/define-tool.ts";
import { jobStatus } from "../src/toolkit/describe/job.ts";
import { describeJobWith } from "../src/toolkit/jobs/job-history.ts";
import { outputs } from "../src/toolkit/outputs.ts";
import { readResource } from "../src/toolkit/polling.ts";
import { toViewResult } from "../src/toolkit/results.ts";

export const showJob = defineTool({
  name: "show_job",
  title: "Show a job",
  description:
    "Show the user one job in a live view with buttons to retry or cancel it. To read it yourself use get_job.",
  effect: "read",
  view: "job",
  input: z.strictObject({ jobId: getMicJob.pathParameters.shape.jobId }),
  output: outputs.view<Job>(),
  async run({ jobId }, ctx) {
    const reading = {
      endpoint: getMicJob,
      path: { jobId },
      describe: describeJobWith(ctx),
      status: jobStatus,
      view: "full",
    } as const;
    return toViewResult(
      await readResource(reading, ctx),
      say`The user sees this job, and may retry or cancel it there.`,
    );
  },
});
