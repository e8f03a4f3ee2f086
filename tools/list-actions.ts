import * as z from "zod/v4";
import { ActionState } from "../src/actions/journal.ts";
import { DEFAULT_LIMIT, type ListedAction, listSummary, stateText } from "../src/actions/listing.ts";
import { table } from "../src/table.ts";
import { defineTool } from "../src/toolkit/define-tool.ts";
import { outputs } from "../src/toolkit/outputs.ts";
import { uris } from "../src/toolkit/resources/uri.ts";
import { nextText, wholeResult } from "../src/toolkit/results.ts";

interface Listing {
  readonly summary: string;
  /** Resolves the first unresolved action. */
  readonly nextStep?: ListedAction["nextStep"];
  readonly actions: readonly ListedAction[];
}

const COLUMNS = ["tool", "state", "idempotencyKey", "about", "resourceId", "code", "attempts", "updatedAt"];

const rowOf = (action: ListedAction) => [
  action.tool,
  stateText(action),
  action.idempotencyKey,
  action.about,
  action.resourceId ?? "",
  action.code ?? "",
  action.attempts,
  action.updatedAt,
];

export const listActions = defineTool({
  name: "list_actions",
  title: "List actions",
  description:
    "List write requests made from here by any session: unresolved ones first, then the latest. Call it at the start of a session; " +
    "nextStep resolves the first unresolved one.",
  effect: "read",
  input: z.strictObject({
    state: ActionState.optional(),
    limit: z.int().min(1).max(100).describe("Resolved actions, default 20.").optional(),
  }),
  output: outputs.whole<Listing>({ summary: outputs.text, actions: outputs.objects }),
  async run({ state, limit = DEFAULT_LIMIT }, call, { actions: journal }) {
    const found = await journal.list({ state, limit });
    const summary = listSummary(found, state);
    const offered = found.actions.map(({ nextStep, ...action }) =>
      nextStep && call.isOffered(nextStep.tool) ? { ...action, nextStep } : action,
    );
    const nextStep = offered.flatMap((action) => ("nextStep" in action ? [action.nextStep] : []))[0];
    const text = [summary, ...(nextStep ? [nextText(nextStep)] : []), table(COLUMNS, found.actions.map(rowOf))].join(
      "\n",
    );
    const listing: Listing = { summary, ...(nextStep && { nextStep }), actions: offered };
    return wholeResult<Listing>(listing, { text, link: uris.actions });
  },
});
