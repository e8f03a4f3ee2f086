// This module defines get_job, which reads one job, and can wait until it ends, pauses or needs a review.
import * as z from "zod/v4";
import { getMicJob } from "../src/contract/endpoints/job-processing.ts";
import type { Job } from "../src/contract/jobs.ts";
import { memoizeUntilFailure } from "../src/core/async.ts";
import { view, waitSeconds } from "../src/toolkit/arguments.ts";
import { defineTool } from "../src/toolkit/define-tool.ts";
import { jobStatus } from "../src/toolkit/describe/job.ts";
import { describeJobWith } from "../src/toolkit/jobs/job-history.ts";
import { readOrigin } from "../src/toolkit/jobs/origins.ts";
import { outputs } from "../src/toolkit/outputs.ts";
import { readResource } from "../src/toolkit/polling.ts";
import type { Describe } from "../src/toolkit/results.ts";

export const getJob = defineTool({
  endpoint: getMicJob,
  name: "get_job",
  title: "Get the status and output of a job",
  description:
    "Get one job: state, nine stages, failure, output. With waitSeconds, wait until it ends, pauses or needs a review.",
  effect: "read",
  input: z.strictObject({ ...getMicJob.pathParameters.shape, waitSeconds, view }),
  output: outputs.advised<Job>(),
  run({ jobId, ...how }, ctx) {
    // One lookup in the journal serves the advice and the origin.
    const readHistory = memoizeUntilFailure(() => ctx.actions.readHistory(jobId)).get;
    const describeJob = describeJobWith({ ...ctx, actions: { readHistory } });
    const describe: Describe<Job> = async (job, readAt) => {
      const description = await describeJob(job, readAt);
      return { ...description, fields: { ...description.fields, ...(await readOrigin(jobId, readHistory(), ctx)) } };
    };
    return readResource({ endpoint: getMicJob, path: { jobId }, describe, status: jobStatus, ...how }, ctx);
  },
});
