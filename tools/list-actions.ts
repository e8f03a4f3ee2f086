// This module defines list_actions, which lists the actions in the journal, unresolved ones first.
import * as z from "zod/v4";
import { ActionState } from "../src/actions/journal.ts";
import { DEFAULT_LIMIT, formatState, type ListedAction, summarizeList } from "../src/actions/listing.ts";
import { formatTable } from "../src/core/table.ts";
import { defineTool } from "../src/toolkit/define-tool.ts";
import { outputs } from "../src/toolkit/outputs.ts";
import { toolResult } from "../src/toolkit/results.ts";
import { toSummaryFields } from "../src/toolkit/summary-view.ts";
import type { ToolContext } from "../src/toolkit/tool-context.ts";
import { references } from "../src/toolkit/uri.ts";

interface Listing {
  readonly actions: readonly object[];
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

/** A resolved action needs no arguments: its resource has them. A rejected action has no resource. */
function summaryOf({ nextStep, ...action }: ListedAction, isOffered: ToolContext["isOffered"]): object {
  const { tool, idempotencyKey, state, resourceId, about, code, updatedAt } = action;
  if (state === "unknown" || state === "in_progress")
    return toSummaryFields({ ...action, ...(nextStep && isOffered(nextStep.tool) && { nextStep }) });
  const resource = resourceId === undefined ? { about } : { resourceId };
  return toSummaryFields({ tool, idempotencyKey, state, ...resource, ...(code !== undefined && { code }), updatedAt });
}

export const listActions = defineTool({
  name: "list_actions",
  title: "List actions: history and audit log of changes",
  description:
    "List write requests made here by any session: unresolved ones first, then the latest. Call it at the start of a session.",
  searchHint: "history, audit log, what was changed, crash, idempotency",
  alwaysLoad: true,
  effect: "read",
  input: z.strictObject({
    state: ActionState.optional(),
    limit: z.int().min(1).max(100).describe(`Resolved actions to list (default ${DEFAULT_LIMIT}).`).optional(),
  }),
  output: outputs.answer<Listing>({ actions: outputs.list }),
  async run({ state, limit = DEFAULT_LIMIT }, ctx) {
    const found = await ctx.actions.list({ state, limit });
    const actions = found.actions.map((action) => summaryOf(action, ctx.isOffered));
    return toolResult<Listing>(
      ctx,
      { actions },
      {
        summary: summarizeList(found, state),
        // Resolves the first unresolved action.
        nextStep: found.actions.find(({ nextStep }) => nextStep)?.nextStep,
        lines: [formatTable(COLUMNS, found.actions.map(rowOf))],
        link: references.actions,
      },
    );
  },
});
