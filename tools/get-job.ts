import * as z from "zod/v4";
import { getMicJob } from "../src/contract/endpoints/job-processing.ts";
import type { Job } from "../src/contract/jobs.ts";
import { jobSubject } from "../src/toolkit/advice/job.ts";
import { defineTool } from "../src/toolkit/define-tool.ts";
import { outputs } from "../src/toolkit/outputs.ts";
import { readResource, waitAndView } from "../src/toolkit/read-resource.ts";

export const getJob = defineTool({
  endpoint: getMicJob,
  name: "get_job",
  title: "Get a job",
  description:
    "One job: state, nine stages, failure, output. waitSeconds waits until it ends, pauses or needs a review.",
  effect: "read",
  input: z.strictObject({ ...getMicJob.pathParameters.shape, ...waitAndView }),
  output: outputs.advised<Job>(),
  run: ({ jobId, ...how }, call, ports) =>
    readResource({ endpoint: getMicJob, path: { jobId }, subject: jobSubject(ports), ...how }, call, ports),
});
