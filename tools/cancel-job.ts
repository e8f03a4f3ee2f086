// This module defines cancel_job, which cancels a job that has not ended.
import * as z from "zod/v4";
import { cancelMicJob } from "../src/contract/endpoints/job-processing.ts";
import { type Job, resourceVersion } from "../src/contract/jobs.ts";
import type { Operation } from "../src/contract/operation.ts";
import { formatToken } from "../src/core/untrusted-text.ts";
import { keyArgument, reasonText, waitSeconds } from "../src/toolkit/arguments.ts";
import { defineTool } from "../src/toolkit/define-tool.ts";
import {
  cancelTraits,
  prepareJobConfirmation,
  rejectEndedJob,
  cancelJob as run,
} from "../src/toolkit/jobs/canceling.ts";
import { outputs } from "../src/toolkit/outputs.ts";

export const cancelJob = defineTool({
  endpoint: cancelMicJob,
  name: "cancel_job",
  title: "Cancel (stop or abort) a running job",
  description: "Cancel a job that has not ended; its work is discarded. The user may be asked to confirm.",
  searchHint: "stop, abort, kill",
  effect: "cancel",
  makes: "operation",
  traits: cancelTraits,
  input: z.strictObject({
    jobId: cancelMicJob.pathParameters.shape.jobId,
    reason: cancelMicJob.body.shape.reason.describe(reasonText),
    resourceVersion: resourceVersion.describe("Only if the job still has this version.").optional(),
    waitSeconds: waitSeconds.describe("Default 5."),
    ...keyArgument("text"),
  }),
  output: outputs.resource<Job | Operation>(),
  confirm({ jobId, reason }) {
    const question = `Cancel job ${formatToken(jobId)}? Its finished work is discarded.`;
    return {
      prepare: (ctx) => prepareJobConfirmation({ jobId, reason, question, check: rejectEndedJob }, ctx),
    };
  },
  run: ({ waitSeconds = 5, ...args }, ctx) => run(args, waitSeconds, ctx),
});
