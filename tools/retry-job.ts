import * as z from "zod/v4";
import { retryMicJob } from "../src/contract/endpoints/job-processing.ts";
import { word } from "../src/outside.ts";
import { defineAction } from "../src/toolkit/define-tool.ts";
import { askAboutJob } from "../src/toolkit/jobs/job-question.ts";
import { retryOnce, retryTraits } from "../src/toolkit/jobs/retrying.ts";
import { keyArgument } from "../src/toolkit/requests.ts";

export const retryJob = defineAction({
  endpoint: retryMicJob,
  name: "retry_job",
  title: "Retry a job",
  description:
    "Runs an ended job again as a new job. SAFE_RESUME keeps finished stages, RESTART throws them away. For a CANCELLED job, or a FAILED one that is retryable.",
  effect: "retry",
  makes: "job",
  traits: retryTraits,
  input: z.strictObject({
    ...retryMicJob.pathParameters.shape,
    ...retryMicJob.body.shape,
    ...keyArgument("text"),
  }),
  confirm: ({ jobId, retryMode, reason }) =>
    retryMode === "RESTART"
      ? askAboutJob({
          jobId,
          reason,
          asks: `Run job ${word(jobId)} anew from the start? The stages it has finished are thrown away.`,
        })
      : undefined,
  run: retryOnce,
});
