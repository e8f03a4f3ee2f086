// This module defines submit_job, which submits a job from READY inputs and a recipe version.
import * as z from "zod/v4";
import { isFileId } from "../src/contract/endpoints/bodies.ts";
import { createMicJob } from "../src/contract/endpoints/job-processing.ts";
import type { Input } from "../src/contract/inputs.ts";
import type { Job } from "../src/contract/jobs.ts";
import { keyArgument, LONG_WAIT_SECONDS } from "../src/toolkit/arguments.ts";
import { defineTool } from "../src/toolkit/define-tool.ts";
import { runJob, submissionArguments, submitJob as submit, submitTraits } from "../src/toolkit/jobs/submitting.ts";
import { outputs } from "../src/toolkit/outputs.ts";

export const submitJob = defineTool({
  endpoint: createMicJob,
  name: "submit_job",
  title: "Submit a job from registered inputs",
  description:
    "Start a job from READY inputs, one for each port, with parameterValues that match the recipe's schema. " +
    "Returns at once. To wait for the result use run_job.",
  effect: "create",
  makes: "job",
  traits: submitTraits,
  output: outputs.resource<Job | Input>(),
  input: z.strictObject({
    ...submissionArguments({ inputBindings: createMicJob.body.shape.inputBindings.describe("One for each port.") }),
    ...keyArgument("text"),
  }),
  async run({ inputBindings, ...args }, ctx) {
    if (!inputBindings.some(({ inputId }) => isFileId(inputId))) return await submit({ ...args, inputBindings }, ctx);
    const inputs = inputBindings.map(({ port, inputId }) =>
      isFileId(inputId) ? { port, referenceId: inputId } : { port, inputId },
    );
    const again = { tool: "submit_job", arguments: { ...args, inputBindings } } as const;
    return await runJob({ ...args, inputs }, { waitSeconds: LONG_WAIT_SECONDS, until: "submit", again }, ctx);
  },
});
