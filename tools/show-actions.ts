import * as z from "zod/v4";
import { ActionState } from "../src/actions/journal.ts";
import { type ListedAction, summaryOfActions } from "../src/actions/listing.ts";
import { defineTool } from "../src/toolkit/define-tool.ts";
import { outputs } from "../src/toolkit/outputs.ts";
import { answerResult, shownToPerson } from "../src/toolkit/results.ts";

/** Of each kind; what is not settled has to be seen, however old it is. */
const SHOWN = 100;

interface Shown {
  readonly actions: readonly ListedAction[];
}

export const showActions = defineTool({
  name: "show_actions",
  title: "Show actions",
  description:
    "Shows the person what was done at the service, first what is open or of unknown outcome. For yourself: list_actions.",
  effect: "read",
  view: "actions",
  input: z.strictObject({ state: ActionState.optional() }),
  output: outputs.answer<Shown>({ actions: outputs.objects }),
  async run({ state }, _call, { actions: journal }) {
    const states = state === undefined ? (["unknown", "open", undefined] as const) : [state];
    const found = (await Promise.all(states.map((each) => journal.list({ state: each, limit: SHOWN })))).flat();
    const actions = [...new Map(found.map((action) => [`${action.tool} ${action.idempotencyKey}`, action])).values()];
    const read = answerResult<Shown>({ actions }, { advice: { summary: summaryOfActions(actions) } });
    return shownToPerson(read, "The person sees them, and may ask you there to resume one.");
  },
});
