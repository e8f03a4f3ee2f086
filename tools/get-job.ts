import * as z from "zod/v4";
import { getMicJob } from "../src/contract/endpoints/job-processing.ts";
import type { Job } from "../src/contract/jobs.ts";
import { isJobMoving, jobProgress, jobSubject, waitsForPerson } from "../src/toolkit/advice/job.ts";
import { defineTool } from "../src/toolkit/define-tool.ts";
import { outputs } from "../src/toolkit/outputs.ts";
import { advisedResult } from "../src/toolkit/results.ts";
import { waitSeconds, waitWhile } from "../src/toolkit/wait-while.ts";

export const getJob = defineTool({
  endpoint: getMicJob,
  name: "get_job",
  title: "Get a job",
  description:
    "One job: state, nine stages, failure, output. waitSeconds waits until it ends, pauses or needs a review.",
  effect: "read",
  input: z.strictObject({ ...getMicJob.pathParameters.shape, waitSeconds }),
  output: outputs.advised<Job>(),
  async run({ jobId, waitSeconds = 0 }, call, ports) {
    const answer = await waitWhile(
      {
        read: () => ports.service.call(getMicJob, { path: { jobId } }, call.context),
        version: ({ value }) => value.data.resourceVersion,
        isMoving: ({ value }) => isJobMoving(value.data),
        waitsForPerson: ({ value }) => waitsForPerson(value.data),
        onRead: ({ value }) => call.report(jobProgress(value.data)),
      },
      waitSeconds,
      { ...call.context, timing: ports.service.timing },
    );
    return await advisedResult(answer, jobSubject(ports), call);
  },
});
