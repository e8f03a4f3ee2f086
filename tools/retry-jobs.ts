import * as z from "zod/v4";
import { retryMicJob } from "../src/contract/endpoints/job-processing.ts";
import { defineProcedure } from "../src/toolkit/define-tool.ts";
import { jobIds, patientWaitSeconds } from "../src/toolkit/jobs/batch.ts";
import { confirmRestarts, retryMany } from "../src/toolkit/jobs/retry-many.ts";
import { outputs } from "../src/toolkit/outputs.ts";

export const retryJobs = defineProcedure({
  name: "retry_jobs",
  title: "Retry many jobs",
  description:
    "retry_job for each job, then waits for the new ones. One that fails stops no other; jobs retried before are left out.",
  effect: "retry",
  input: z.strictObject({ jobIds, ...retryMicJob.body.shape, waitSeconds: patientWaitSeconds }),
  output: outputs.whole({ summary: outputs.text, results: outputs.objects }),
  confirm: confirmRestarts,
  run: retryMany,
});
