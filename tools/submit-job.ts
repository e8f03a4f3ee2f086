import * as z from "zod/v4";
import { createMicJob } from "../src/contract/endpoints/job-processing.ts";
import { defineAction } from "../src/toolkit/define-tool.ts";
import { submitOnce, submitTraits } from "../src/toolkit/jobs/submitting.ts";
import { keyArgument, objectArgument } from "../src/toolkit/requests.ts";

export const submitJob = defineAction({
  endpoint: createMicJob,
  name: "submit_job",
  title: "Submit a job",
  description:
    "Starts a job: READY inputs bound to every port of a recipe version, parameterValues as get_recipe's schema asks. " +
    "Follow it with get_job.",
  effect: "create",
  makes: "job",
  traits: submitTraits,
  input: z.strictObject({
    ...createMicJob.body.shape,
    parameterValues: objectArgument,
    clientReference: createMicJob.body.shape.clientReference.describe("Your note."),
    ...keyArgument("text"),
  }),
  run: submitOnce,
});
