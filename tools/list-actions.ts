import * as z from "zod/v4";
import { DEFAULT_LIMIT, type ListedAction, summaryOfActions } from "../src/actions/listing.ts";
import { table } from "../src/table.ts";
import { defineTool } from "../src/toolkit/define-tool.ts";
import { outputs } from "../src/toolkit/outputs.ts";
import { uris } from "../src/toolkit/resources/uri.ts";
import { nextText, wholeResult } from "../src/toolkit/results.ts";
import type { ToolCall } from "../src/toolkit/tool-call.ts";
import { isToolName } from "../src/toolkit/tool-names.ts";

interface Listing {
  readonly summary: string;
  /** Settles the latest that is not settled. */
  readonly nextStep?: ListedAction["nextStep"];
  readonly actions: readonly ListedAction[];
}

const isOffered = (step: ListedAction["nextStep"], call: ToolCall): boolean =>
  step !== undefined && isToolName(step.tool) && call.isOffered(step.tool);

export const listActions = defineTool({
  name: "list_actions",
  title: "List actions",
  description: "What was done at the service, newest first; nextStep settles what is open or unknown.",
  effect: "read",
  input: z.strictObject({
    state: z.enum(["open", "succeeded", "rejected", "unknown"]).optional(),
    limit: z.int().min(1).max(100).describe("Default 20.").optional(),
  }),
  output: outputs.whole<Listing>({ summary: outputs.text, actions: outputs.objects }),
  async run({ state, limit = DEFAULT_LIMIT }, call, { actions: journal }) {
    const actions = await journal.list({ state, limit });
    const rows = actions.map((action) => [
      action.tool,
      action.state,
      action.idempotencyKey,
      action.about,
      action.resourceId ?? "",
      action.code ?? "",
      action.attempts,
      action.updatedAt,
    ]);
    const nextStep = actions.find((action) => isOffered(action.nextStep, call))?.nextStep;
    const summary = summaryOfActions(actions);
    const columns = ["tool", "state", "idempotencyKey", "about", "resourceId", "code", "attempts", "updatedAt"];
    const steps = actions.flatMap(({ nextStep }) => (nextStep ? [nextText(nextStep)] : []));
    const text = [summary, table(columns, rows), ...steps].join("\n");
    return wholeResult<Listing>({ summary, ...(nextStep && { nextStep }), actions }, { text, link: uris.actions });
  },
});
