// This module defines resolve_actions, which finds out the outcome of unresolved actions.
import * as z from "zod/v4";
import { anyKey } from "../src/actions/idempotency-keys.ts";
import { stringValidatedBy } from "../src/toolkit/arguments.ts";
import { defineTool } from "../src/toolkit/define-tool.ts";
import { prepareResolveConfirmation, resolveActions as run } from "../src/toolkit/jobs/resolving.ts";
import { outputs } from "../src/toolkit/outputs.ts";

export const resolveActions = defineTool({
  name: "resolve_actions",
  title: "Resolve actions after a crash or lost response",
  description:
    "Find out the outcome of unresolved actions, oldest first. Each is sent again under its key, or its job is " +
    "read; none runs twice. An action that never arrived may run now; list_actions only lists.",
  searchHint: "recover, crash, lost response, unknown outcome",
  effect: "retry",
  input: z.strictObject({
    idempotencyKey: stringValidatedBy(anyKey).describe("Only the action with this key (default: all).").optional(),
  }),
  output: outputs.answer({ results: outputs.objects }),
  confirm: (args) => ({ prepare: (call, ports) => prepareResolveConfirmation(args, call, ports) }),
  run,
});
