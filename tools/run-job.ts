import * as z from "zod/v4";
import { InputBinding, MAX_BINDINGS, matchesInputKind, referenceRule } from "../src/contract/endpoints/bodies.ts";
import { createMicJob, createMicPublicInput } from "../src/contract/endpoints/job-processing.ts";
import { isJsonObject } from "../src/contract/json.ts";
import { keyArgument, longWaitSeconds, objectArgument, stringValidatedBy } from "../src/toolkit/arguments.ts";
import { defineTool } from "../src/toolkit/define-tool.ts";
import { runJob as run } from "../src/toolkit/jobs/submitting.ts";
import { outputs } from "../src/toolkit/outputs.ts";

const { workspaceId, recipeVersionId, clientReference } = createMicJob.body.shape;
const { referenceId, inputKind } = createMicPublicInput.body.shape;

const areUnique = (values: readonly string[]): boolean => new Set(values).size === values.length;

const requestedInput = z
  .strictObject({
    port: stringValidatedBy(InputBinding.shape.port),
    inputId: stringValidatedBy(InputBinding.shape.inputId).optional(),
    referenceId: stringValidatedBy(referenceId).optional(),
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
    error: "goes with referenceId alone",
  })
  .refine(
    ({ referenceId = "devfile_", inputKind = "M4_FILE" }) => matchesInputKind({ inputKind, referenceId }),
    referenceRule,
  );

export const runJob = defineTool({
  name: "run_job",
  title: "Run a job",
  description:
    "From files to a finished job: registers referenceIds once, waits for scans, submits, waits (default 45 s). " +
    "Called again it goes on.",
  effect: "create",
  makes: "job",
  byKey: {
    tool: "submit_job",
    argumentsOf: ({ inputBindings: inputs, ...stored }) => ({ ...stored, inputs }),
  },
  input: z.strictObject({
    workspaceId: stringValidatedBy(workspaceId),
    recipeVersionId: stringValidatedBy(recipeVersionId),
    inputs: z
      .array(requestedInput)
      .refine(({ length }) => length > 0 && length <= MAX_BINDINGS, { error: `must name 1 to ${MAX_BINDINGS}` })
      .refine((inputs) => areUnique(inputs.map(({ port }) => port)), { error: "must have unique ports" })
      .refine((inputs) => areUnique(inputs.map(({ inputId, referenceId }) => JSON.stringify([inputId, referenceId]))), {
        error: "must name each input once",
      }),
    parameterValues: objectArgument,
    clientReference: stringValidatedBy(clientReference).optional(),
    waitSeconds: longWaitSeconds,
    ...keyArgument("text"),
  }),
  output: outputs.answer({ data: outputs.object, steps: outputs.objects, meta: outputs.object }),
  run,
});
