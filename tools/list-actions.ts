// This module defines list_actions, which lists the actions in the journal, unresolved ones first.
import * as z from "zod/v4";
import { ActionState } from "../src/actions/journal.ts";
import { DEFAULT_LIMIT, formatState, type ListedAction, summarizeList } from "../src/actions/listing.ts";
import { formatTable } from "../src/core/table.ts";
import { defineTool } from "../src/toolkit/define-tool.ts";
import { outputs } from "../src/toolkit/outputs.ts";
import { toolResult } from "../src/toolkit/results.ts";
import { uris } from "../src/toolkit/uri.ts";

interface Listing {
  readonly actions: readonly ListedAction[];
}

const COLUMNS = ["tool", "state", "idempotencyKey", "about", "resourceId", "code", "attempts", "updatedAt"];

const rowOf = (action: ListedAction) => [
  action.tool,
  formatState(action),
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
    limit: z.int().min(1).max(100).describe(`Resolved actions to list (default ${DEFAULT_LIMIT}).`).optional(),
  }),
  output: outputs.answer<Listing>({ actions: outputs.objects }),
  async run({ state, limit = DEFAULT_LIMIT }, call, { actions: journal }) {
    const found = await journal.list({ state, limit });
    const actions = found.actions.map(({ nextStep, ...action }) =>
      nextStep && call.isOffered(nextStep.tool) ? { ...action, nextStep } : action,
    );
    return toolResult<Listing>(
      call,
      { actions },
      {
        summary: summarizeList(found, state),
        // Resolves the first unresolved action.
        nextStep: found.actions.find(({ nextStep }) => nextStep)?.nextStep,
        lines: [formatTable(COLUMNS, found.actions.map(rowOf))],
        link: uris.actions,
      },
    );
  },
});
