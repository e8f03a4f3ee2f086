// This module defines run_job, which registers files, submits a job and waits for it in one call.
import * as z from "zod/v4";
import {
  areUnique,
  InputBinding,
  MAX_BINDINGS,
  matchesInputKind,
  referenceRule,
} from "../src/contract/endpoints/bodies.ts";
import { createMicPublicInput } from "../src/contract/endpoints/job-processing.ts";
import type { Input } from "../src/contract/inputs.ts";
import type { Job } from "../src/contract/jobs.ts";
import { isJsonObject } from "../src/contract/json.ts";
import { say } from "../src/core/text.ts";
import { keyArgument, LONG_WAIT_SECONDS, longWaitSeconds, stringValidatedBy } from "../src/toolkit/arguments.ts";
import { defineTool } from "../src/toolkit/define-tool.ts";
import { readOffer } from "../src/toolkit/jobs/batch.ts";
import type { RequestedInput } from "../src/toolkit/jobs/inputs.ts";
import { onlyPort, runJob as run, submissionArguments } from "../src/toolkit/jobs/submitting.ts";
import { outputs } from "../src/toolkit/outputs.ts";
import type { ToolContext } from "../src/toolkit/tool-context.ts";

const { referenceId, inputKind } = createMicPublicInput.body.shape;

const requestedInput = z
  .strictObject({
    port: stringValidatedBy(InputBinding.shape.port).describe("Default: the recipe's only port.").optional(),
    inputId: stringValidatedBy(InputBinding.shape.inputId).optional(),
    referenceId: stringValidatedBy(referenceId).describe("A file's id (devfile_…), from the user.").optional(),
    inputKind: inputKind.optional(),
  })
  .refine((requested) => (requested.inputId === undefined) !== (requested.referenceId === undefined), {
    error: ({ input }) =>
      isJsonObject(input) && input["inputId"] !== undefined
        ? "has inputId and referenceId: give one of them"
        : "must have inputId or referenceId",
  })
  .refine((requested) => requested.inputId === undefined || requested.inputKind === undefined, {
    path: ["inputKind"],
    error: "is only for a referenceId",
  })
  .refine(
    ({ referenceId = "devfile_", inputKind = "M4_FILE" }) => matchesInputKind({ inputKind, referenceId }),
    referenceRule,
  );

/** Adds the recipe's only port to an input without one. Throws Failure if the recipe has several, or could not be read. */
async function withPorts(
  {
    inputs,
    recipeVersionId: versionId,
  }: { readonly inputs: readonly z.output<typeof requestedInput>[]; readonly recipeVersionId: string },
  ctx: ToolContext,
): Promise<readonly RequestedInput[]> {
  const offer = inputs.some(({ port }) => port === undefined) ? await readOffer(versionId, ctx) : undefined;
  return inputs.map((input) => ({
    ...input,
    port: input.port ?? onlyPort(offer, inputs.length, say`Call again with a port for each input.`),
  }));
}

export const runJob = defineTool({
  name: "run_job",
  title: "Start a job: process a file with a recipe (pipeline)",
  description:
    "Run a job from files to its result: register each referenceId, wait for scans, submit, wait. " +
    "An identical call within 20 hours resumes it and starts no second job.",
  searchHint: "start processing a file, pipeline, workflow",
  alwaysLoad: true,
  effect: "create",
  makes: "job",
  byKey: {
    tool: "submit_job",
    argumentsOf: ({ inputBindings: inputs, ...stored }) => ({ ...stored, inputs }),
  },
  input: z.strictObject({
    ...submissionArguments({
      inputs: z
        .array(requestedInput)
        .min(1)
        .max(MAX_BINDINGS)
        .refine((inputs) => areUnique(inputs.flatMap(({ port = [] }) => port)), { error: "must have unique ports" })
        .refine(
          (inputs) => areUnique(inputs.map(({ inputId, referenceId }) => JSON.stringify([inputId, referenceId]))),
          { error: "must name each input once" },
        )
        .describe('One for each port: [{"port":"divisions","referenceId":"devfile_…"}].'),
    }),
    waitSeconds: longWaitSeconds,
    ...keyArgument("text"),
  }),
  output: outputs.resource<Job | Input>(),
  async run({ waitSeconds = LONG_WAIT_SECONDS, ...given }, ctx) {
    const args = { ...given, inputs: await withPorts(given, ctx) };
    const again = { tool: "run_job", arguments: args } as const;
    return await run(args, { waitSeconds, until: "end", again }, ctx);
  },
});
