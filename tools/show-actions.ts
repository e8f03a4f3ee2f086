import * as z from "zod/v4";
import { ActionState } from "../src/actions/journal.ts";
import { type ListedAction, summarizeCounts } from "../src/actions/listing.ts";
import { defineTool } from "../src/toolkit/define-tool.ts";
import { outputs } from "../src/toolkit/outputs.ts";
import { toolResult, toViewResult } from "../src/toolkit/results.ts";

/** Resolved actions that are shown. */
const SHOWN = 100;

interface Shown {
  readonly actions: readonly ListedAction[];
}

export const showActions = defineTool({
  name: "show_actions",
  title: "Show actions",
  description:
    "Show the user the write requests made from here, unresolved ones first. To read them yourself: list_actions.",
  effect: "read",
  view: "actions",
  input: z.strictObject({ state: ActionState.optional() }),
  output: outputs.answer<Shown>({ actions: outputs.objects }),
  async run({ state }, call, { actions: journal }) {
    const { actions, counts } = await journal.list({ state, limit: SHOWN });
    const read = toolResult<Shown>(call, { actions }, { summary: summarizeCounts(counts) });
    return toViewResult(read, "The user sees them, and may ask you to resolve one.");
  },
});
