// This module defines list_actions, which lists the actions in the journal, unresolved ones first.
import * as z from "zod/v4";
import { ActionState } from "../src/actions/journal.ts";
import { DEFAULT_LIMIT, type ListedAction, summarizeList } from "../src/actions/listing.ts";
import { formatRecordTable } from "../src/core/table.ts";
import { fixed, say } from "../src/core/text.ts";
import { defineTool } from "../src/toolkit/define-tool.ts";
import { outputs } from "../src/toolkit/outputs.ts";
import { type NextStep, toolResult } from "../src/toolkit/results.ts";
import { toSummaryFields } from "../src/toolkit/summary-view.ts";
import { references } from "../src/toolkit/uri.ts";

interface Listing {
  readonly actions: readonly object[];
}

/** A resolved action needs only its key, its resource and, if it was rejected, the code. */
function rowOf(action: ListedAction) {
  const { tool, idempotencyKey, state, createdId, targetId, code, updatedAt } = action;
  const { nextStep: _, arguments: __, ...unresolved } = action;
  if (state === "unknown" || state === "in_progress") return toSummaryFields(unresolved);
  const resource = createdId === undefined ? { targetId } : { createdId };
  return toSummaryFields({ tool, idempotencyKey, state, ...resource, ...(code !== undefined && { code }), updatedAt });
}

function nextStepOf(actions: readonly ListedAction[]): NextStep | undefined {
  const [first, ...others] = actions.flatMap(({ nextStep }) => nextStep ?? []);
  if (first === undefined) return undefined;
  if (others.length === 0) return { ...first, why: fixed(first.why) };
  return { tool: "resolve_actions", arguments: {}, why: say`finds out the outcomes of all; no action runs twice` };
}

export const listActions = defineTool({
  name: "list_actions",
  title: "List actions: history and audit log of changes",
  description:
    "List the write requests in this server's journal: unresolved ones first, then the latest. resolve_actions resolves them.",
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
    const actions = found.actions.map(rowOf);
    return toolResult<Listing>(
      { actions },
      {
        summary: summarizeList(found, state, await ctx.actions.countOfOtherClients()),
        nextStep: nextStepOf(found.actions),
        lines: [actions.length > 0 ? formatRecordTable(actions) : undefined],
        link: references.actions,
      },
    );
  },
});
