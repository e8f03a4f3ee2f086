// This module defines retry_jobs, which retries several jobs and waits for the new ones.
import * as z from "zod/v4";
import { retryMicJob } from "../src/contract/endpoints/job-processing.ts";
import { jobIds, keyArgument, longWaitSeconds, stringValidatedBy } from "../src/toolkit/arguments.ts";
import { defineTool } from "../src/toolkit/define-tool.ts";
import { confirmRestarts, retryMany } from "../src/toolkit/jobs/retrying.ts";
import { outputs } from "../src/toolkit/outputs.ts";

export const retryJobs = defineTool({
  name: "retry_jobs",
  title: "Retry many jobs",
  description: "Retries each, then waits for the new jobs.",
  effect: "retry",
  input: z.strictObject({
    jobIds,
    retryMode: retryMicJob.body.shape.retryMode,
    reason: stringValidatedBy(retryMicJob.body.shape.reason),
    waitSeconds: longWaitSeconds,
    ...keyArgument("text"),
  }),
  output: outputs.answer({ results: outputs.objects }),
  confirm: confirmRestarts,
  run: retryMany,
});
