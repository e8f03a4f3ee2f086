// This module defines run_jobs, which runs one recipe version with the same parameters on many files.
import * as z from "zod/v4";
import { InputBinding, matchesInputKind, referenceRule } from "../src/contract/endpoints/bodies.ts";
import { createMicJob, createMicPublicInput } from "../src/contract/endpoints/job-processing.ts";
import { jsonObject } from "../src/contract/json.ts";
import {
  keyArgument,
  longWaitSeconds,
  MAX_JOBS,
  parameterValuesText,
  recipeVersionText,
  stringValidatedBy,
} from "../src/toolkit/arguments.ts";
import { defineTool } from "../src/toolkit/define-tool.ts";
import { runMany } from "../src/toolkit/jobs/running-many.ts";
import { outputs } from "../src/toolkit/outputs.ts";

const { workspaceId, recipeVersionId } = createMicJob.body.shape;
const { referenceId } = createMicPublicInput.body.shape;

const file = stringValidatedBy(referenceId).refine(
  (id) => matchesInputKind({ inputKind: "M4_FILE", referenceId: id }),
  referenceRule.error,
);

export const runJobs = defineTool({
  name: "run_jobs",
  title: "Run (process) many files in one batch",
  searchHint: "process several files, batch, bulk",
  description: "Run one recipe on up to 50 files, 4 jobs at a time, and return each file's outcome.",
  effect: "create",
  input: z.strictObject({
    workspaceId: stringValidatedBy(workspaceId),
    recipeVersionId: stringValidatedBy(recipeVersionId).describe(recipeVersionText),
    files: z
      .array(file)
      .max(MAX_JOBS)
      .refine(({ length }) => length > 0, { error: "must name a file" })
      .refine((ids) => new Set(ids).size === ids.length, { error: "must be unique" })
      .describe("File ids."),
    port: stringValidatedBy(InputBinding.shape.port).describe("Default: the only one.").optional(),
    parameterValues: jsonObject.describe(parameterValuesText),
    waitSeconds: longWaitSeconds,
    ...keyArgument("text"),
  }),
  output: outputs.answer({ results: outputs.objects }),
  run: runMany,
});
