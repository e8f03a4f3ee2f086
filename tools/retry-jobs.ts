// This module defines retry_jobs, which retries several jobs and waits for the new ones.
import * as z from "zod/v4";
import { retryMicJob } from "../src/contract/endpoints/job-processing.ts";
import {
  jobIds,
  keyArgument,
  longWaitSeconds,
  reasonText,
  retryModeText,
  stringValidatedBy,
} from "../src/toolkit/arguments.ts";
import { defineTool } from "../src/toolkit/define-tool.ts";
import { confirmRestarts, retryMany } from "../src/toolkit/jobs/retrying.ts";
import { outputs } from "../src/toolkit/outputs.ts";

export const retryJobs = defineTool({
  name: "retry_jobs",
  title: "Retry many failed jobs at once",
  description:
    "Retry up to 50 FAILED or CANCELLED jobs, each as a new job, then wait for the new jobs. Jobs that were retried before are skipped.",
  searchHint: "rerun or restart all failed jobs",
  effect: "retry",
  input: z.strictObject({
    jobIds,
    retryMode: retryMicJob.body.shape.retryMode.describe(retryModeText),
    reason: stringValidatedBy(retryMicJob.body.shape.reason).describe(reasonText),
    waitSeconds: longWaitSeconds,
    ...keyArgument("text"),
  }),
  output: outputs.answer({ results: outputs.objects }),
  confirm: confirmRestarts,
  run: retryMany,
});
