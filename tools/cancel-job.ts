import * as z from "zod/v4";
import { cancelMicJob } from "../src/contract/endpoints/job-processing.ts";
import { resourceVersion } from "../src/contract/jobs.ts";
import { word } from "../src/outside.ts";
import { defineAction } from "../src/toolkit/define-tool.ts";
import { cancelAtVersion, cancelTraits, refuseEnded } from "../src/toolkit/jobs/cancellation.ts";
import { askAboutJob } from "../src/toolkit/jobs/job-question.ts";
import { keyArgument } from "../src/toolkit/requests.ts";

export const cancelJob = defineAction({
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
  confirm: ({ jobId, reason }) =>
    askAboutJob({
      jobId,
      reason,
      asks: `Cancel job ${word(jobId)}? What it has done so far is given up.`,
      check: refuseEnded,
    }),
  run: cancelAtVersion,
});
