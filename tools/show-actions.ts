// This module defines show_actions, which shows the actions in the journal to the user.
import * as z from "zod/v4";
import { ActionState } from "../src/actions/journal.ts";
import { type ListedAction, summarizeCounts } from "../src/actions/listing.ts";
import { say } from "../src/core/text.ts";
import { defineTool } from "../src/toolkit/define-tool.ts";
import { outputs } from "../src/toolkit/outputs.ts";
import { toolResult, toViewResult } from "../src/toolkit/results.ts";

/** Maximum number of resolved actions that are shown. */
const MAX_SHOWN = 100;

interface ShownActions {
  readonly actions: readonly ListedAction[];
}

export const showActions = defineTool({
  name: "show_actions",
  title: "Show actions",
  description:
    "Show the user the write requests made here, unresolved ones first. To read them yourself, use list_actions.",
  effect: "read",
  view: "actions",
  input: z.strictObject({ state: ActionState.optional() }),
  output: outputs.view<ShownActions>(),
  async run({ state }, ctx) {
    const { actions, counts } = await ctx.actions.list({ state, limit: MAX_SHOWN });
    const read = toolResult<ShownActions>({ actions }, { summary: summarizeCounts(counts) });
    const shown = say`The user sees these actions, and may ask you to resolve one.`;
    return toViewResult(read, actions.length === 0 ? say`The user sees an empty list.` : shown);
  },
});
