// This module defines submit_job, which submits a job from READY inputs and a recipe version.
import * as z from "zod/v4";
import { createMicJob } from "../src/contract/endpoints/job-processing.ts";
import type { Job } from "../src/contract/jobs.ts";
import { jsonObject } from "../src/contract/json.ts";
import { keyArgument, parameterValuesText, recipeVersionText } from "../src/toolkit/arguments.ts";
import { defineTool } from "../src/toolkit/define-tool.ts";
import { submitJob as run, submitTraits } from "../src/toolkit/jobs/submitting.ts";
import { outputs } from "../src/toolkit/outputs.ts";

const body = createMicJob.body.shape;

export const submitJob = defineTool({
  endpoint: createMicJob,
  name: "submit_job",
  title: "Submit a job from registered inputs",
  description:
    "Start a job from READY inputs, one for each port, with parameterValues that match the recipe's schema. " +
    "Returns at once: follow the job with get_job. For unregistered files use run_job.",
  effect: "create",
  makes: "job",
  traits: submitTraits,
  output: outputs.action<Job>(),
  input: z.strictObject({
    ...body,
    recipeVersionId: body.recipeVersionId.describe(recipeVersionText),
    inputBindings: body.inputBindings.describe("One for each port."),
    parameterValues: jsonObject.describe(parameterValuesText),
    clientReference: body.clientReference.describe("Your note."),
    ...keyArgument("text"),
  }),
  run,
});
