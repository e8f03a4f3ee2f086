import * as z from "zod/v4";
import { runAction } from "../src/catalogue/action.ts";
import { keyArgument } from "../src/catalogue/requests.ts";
import { outputs } from "../src/catalogue/results.ts";
import { jobSubject } from "../src/catalogue/telling/job.ts";
import { quote } from "../src/catalogue/telling/quote.ts";
import { defineTool } from "../src/catalogue/tool.ts";
import { retryMicJob } from "../src/contract/endpoints/job-processing.ts";

const traits = { about: "jobId", wording: ["reason"] };

export const retryJob = defineTool({
  endpoint: retryMicJob,
  name: "retry_job",
  title: "Retry a job",
  description:
    "Runs an ended job again as a new job. SAFE_RESUME keeps finished stages, RESTART throws them away. For retryable failures.",
  effect: "retry",
  traits,
  startsJob: true,
  input: z.strictObject({
    ...retryMicJob.pathParameters.shape,
    ...retryMicJob.body.shape,
    ...keyArgument("text"),
  }),
  output: outputs.action,
  confirm: ({ jobId, retryMode, reason }) =>
    retryMode === "RESTART"
      ? `Run job ${jobId} anew from the start? The stages it has finished are thrown away. The reason given: ${quote(reason)}`
      : undefined,
  run: (args, call) =>
    runAction(args, call, {
      endpoint: retryMicJob,
      traits,
      subject: jobSubject,
      findOut: "Look with list_jobs for a job whose retryOfBatchId (view full) is this job.",
    }),
});
