// This module defines get_job, which reads one job, and can wait until it ends, pauses or needs a review.
import * as z from "zod/v4";
import { getMicJob } from "../src/contract/endpoints/job-processing.ts";
import type { Job } from "../src/contract/jobs.ts";
import { view, waitSeconds } from "../src/toolkit/arguments.ts";
import { defineTool } from "../src/toolkit/define-tool.ts";
import { jobStatus } from "../src/toolkit/describe/job.ts";
import { describeJobWith } from "../src/toolkit/jobs/job-history.ts";
import { outputs } from "../src/toolkit/outputs.ts";
import { readResource } from "../src/toolkit/polling.ts";

export const getJob = defineTool({
  endpoint: getMicJob,
  name: "get_job",
  title: "Get the status and output of a job",
  description:
    "Get one job: state, nine stages, failure, output. With waitSeconds, wait until it ends, pauses or needs a review.",
  effect: "read",
  input: z.strictObject({ jobId: getMicJob.pathParameters.shape.jobId, waitSeconds, view }),
  output: outputs.resource<Job>(),
  run: ({ jobId, ...how }, ctx) =>
    readResource(
      {
        endpoint: getMicJob,
        path: { jobId },
        describe: describeJobWith(ctx, { origin: ctx }),
        status: jobStatus,
        ...how,
      },
      ctx,
    ),
});
