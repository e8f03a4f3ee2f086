// This module defines cancel_job, which cancels a job that has not ended.
import * as z from "zod/v4";
import { cancelMicJob } from "../src/contract/endpoints/job-processing.ts";
import { resourceVersion } from "../src/contract/jobs.ts";
import type { Operation } from "../src/contract/operation.ts";
import { formatToken } from "../src/core/untrusted-text.ts";
import { keyArgument } from "../src/toolkit/arguments.ts";
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
  title: "Cancel a job",
  description:
    "Cancels a job that has not ended; its work is given up. Answers with an operation to follow with get_operation.",
  effect: "cancel",
  makes: "operation",
  traits: cancelTraits,
  input: z.strictObject({
    ...cancelMicJob.pathParameters.shape,
    ...cancelMicJob.body.shape,
    resourceVersion: resourceVersion.describe("Only at this version; default: as it is now.").optional(),
    ...keyArgument("text"),
  }),
  output: outputs.action<Operation>(),
  confirm({ jobId, reason }) {
    const question = `Cancel job ${formatToken(jobId)}? What it has done so far is given up.`;
    return {
      prepare: (call, ports) => prepareJobConfirmation({ jobId, reason, question, check: rejectEndedJob }, call, ports),
    };
  },
  run,
});
