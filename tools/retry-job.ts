// This module defines retry_job, which runs an ended job again as a new job.
import * as z from "zod/v4";
import { retryMicJob } from "../src/contract/endpoints/job-processing.ts";
import type { Job } from "../src/contract/jobs.ts";
import { formatToken } from "../src/core/untrusted-text.ts";
import { keyArgument, reasonText, retryModeText, waitSeconds } from "../src/toolkit/arguments.ts";
import { defineTool } from "../src/toolkit/define-tool.ts";
import { prepareJobConfirmation } from "../src/toolkit/jobs/canceling.ts";
import { retryTraits, retryAndWait as run } from "../src/toolkit/jobs/retrying.ts";
import { outputs } from "../src/toolkit/outputs.ts";

const body = retryMicJob.body.shape;

export const retryJob = defineTool({
  endpoint: retryMicJob,
  name: "retry_job",
  title: "Retry (rerun) a failed job",
  description: "Retry an ended job as a new job with its own id. Use it for a CANCELLED job or a retryable FAILED one.",
  effect: "retry",
  makes: "job",
  traits: retryTraits,
  input: z.strictObject({
    jobId: retryMicJob.pathParameters.shape.jobId,
    retryMode: body.retryMode.describe(retryModeText),
    reason: body.reason.describe(reasonText),
    waitSeconds,
    ...keyArgument("text"),
  }),
  output: outputs.resource<Job>(),
  confirm({ jobId, retryMode, reason }) {
    if (retryMode !== "RESTART") return undefined;
    const question = `Run job ${formatToken(jobId)} again from the start? Its finished stages are discarded.`;
    return { prepare: (ctx) => prepareJobConfirmation({ jobId, reason, question }, ctx) };
  },
  run,
});
