// This module defines resolve_actions, which finds out the outcome of unresolved actions.
import * as z from "zod/v4";
import { anyKey } from "../src/actions/idempotency-keys.ts";
import { getMicJob } from "../src/contract/endpoints/job-processing.ts";
import { stringValidatedBy } from "../src/toolkit/arguments.ts";
import { defineTool } from "../src/toolkit/define-tool.ts";
import { prepareResolveConfirmation, resolveActions as run } from "../src/toolkit/jobs/resolving.ts";
import { outputs } from "../src/toolkit/outputs.ts";

export const resolveActions = defineTool({
  name: "resolve_actions",
  title: "Resolve actions after a crash or lost response",
  description:
    "Find out the outcome of unresolved actions. Each is sent again under its key, or jobs are read; none runs twice. " +
    "One that never arrived may run now. To look without sending, use list_actions.",
  searchHint: "recover, crash, lost response, unknown outcome",
  effect: "retry",
  input: z
    .strictObject({
      idempotencyKey: stringValidatedBy(anyKey).describe("Only this action (default: all).").optional(),
      jobId: stringValidatedBy(getMicJob.pathParameters.shape.jobId).describe("User's decision: its job.").optional(),
      outcome: z.enum(["none"]).describe("User's decision: no effect.").optional(),
    })
    .superRefine(({ idempotencyKey, ...others }, { addIssue }) => {
      const [first, second] = Object.entries(others).flatMap(([name, value]) => (value === undefined ? [] : [name]));
      const refuse = (name: string, message: string) => addIssue({ code: "custom", path: [name], message });
      if (first !== undefined && idempotencyKey === undefined) refuse(first, "needs the idempotencyKey of the action");
      if (second !== undefined) refuse(second, `give either ${first} or ${second}`);
    }),
  output: outputs.answer({ results: outputs.list }),
  confirm: (args) => ({ prepare: (ctx) => prepareResolveConfirmation(args, ctx) }),
  run,
});
