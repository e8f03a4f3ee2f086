// This module defines submit_job, which submits a job from READY inputs and a recipe version.
import * as z from "zod/v4";
import { createMicJob } from "../src/contract/endpoints/job-processing.ts";
import type { Job } from "../src/contract/jobs.ts";
import { keyArgument, objectArgument } from "../src/toolkit/arguments.ts";
import { defineTool } from "../src/toolkit/define-tool.ts";
import { submitJob as run, submitTraits } from "../src/toolkit/jobs/submitting.ts";
import { outputs } from "../src/toolkit/outputs.ts";

export const submitJob = defineTool({
  endpoint: createMicJob,
  name: "submit_job",
  title: "Submit a job",
  description:
    "Starts a job: READY inputs bound to every port of a recipe version, parameterValues as get_recipe's schema asks. " +
    "Follow it with get_job.",
  effect: "create",
  makes: "job",
  traits: submitTraits,
  output: outputs.action<Job>(),
  input: z.strictObject({
    ...createMicJob.body.shape,
    parameterValues: objectArgument,
    clientReference: createMicJob.body.shape.clientReference.describe("Your note."),
    ...keyArgument("text"),
  }),
  run,
});
