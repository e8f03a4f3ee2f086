// This module defines resolve_actions, which finds out the outcome of unresolved actions.
import { defineTool } from "../src/toolkit/define-tool.ts";
import { prepareResolveConfirmation, resolveInput, resolveActions as run } from "../src/toolkit/jobs/resolving.ts";
import { outputs } from "../src/toolkit/outputs.ts";

export const resolveActions = defineTool({
  name: "resolve_actions",
  title: "Resolve actions after a crash or lost response",
  description:
    "Find out the outcome of unresolved actions. Each is sent again under its key, or jobs are read; none runs twice. " +
    "One that never arrived may run now. To look without sending, use list_actions.",
  searchHint: "recover, crash, lost response, unknown outcome",
  effect: "retry",
  input: resolveInput,
  output: outputs.answer({ results: outputs.list }),
  confirm: (args) => ({ prepare: (ctx) => prepareResolveConfirmation(args, ctx) }),
  run,
});
