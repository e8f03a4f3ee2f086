import * as z from "zod/v4";
import { retryMicJob } from "../src/contract/endpoints/job-processing.ts";
import { defineProcedure } from "../src/toolkit/define-tool.ts";
import { jobIds, patientWaitSeconds } from "../src/toolkit/jobs/batch.ts";
import { confirmRestarts, retryMany } from "../src/toolkit/jobs/retry-many.ts";
import { outputs } from "../src/toolkit/outputs.ts";
import { heldTo, keyArgument } from "../src/toolkit/requests.ts";

export const retryJobs = defineProcedure({
  name: "retry_jobs",
  title: "Retry many jobs",
  description: "Retries each, then waits for the new jobs.",
  effect: "retry",
  input: z.strictObject({
    jobIds,
    retryMode: retryMicJob.body.shape.retryMode,
    reason: heldTo(retryMicJob.body.shape.reason),
    waitSeconds: patientWaitSeconds,
    ...keyArgument("text"),
  }),
  output: outputs.whole({ summary: outputs.text, results: outputs.objects }),
  confirm: confirmRestarts,
  run: retryMany,
});
