import * as z from "zod/v4";
import { DEFAULT_LIMIT, type ListedAction } from "../src/actions/listing.ts";
import { table } from "../src/table.ts";
import { defineTool } from "../src/toolkit/define-tool.ts";
import { outputs } from "../src/toolkit/outputs.ts";
import { uris } from "../src/toolkit/resources/uri.ts";
import { callText, wholeResult } from "../src/toolkit/results.ts";

export const listActions = defineTool({
  name: "list_actions",
  title: "List actions",
  description: "What was done at the service, newest first; nextStep settles what is open or unknown.",
  effect: "read",
  input: z.strictObject({
    state: z.enum(["open", "succeeded", "rejected", "unknown"]).optional(),
    limit: z.int().min(1).max(100).describe("Default 20.").optional(),
  }),
  output: outputs.whole<{ readonly actions: readonly ListedAction[] }>({ actions: outputs.objects }),
  async run({ state, limit = DEFAULT_LIMIT }, _call, { actions: journal }) {
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
    const head = `${actions.length} actions${state === undefined ? "" : ` ${state}`}.`;
    const columns = ["tool", "state", "idempotencyKey", "about", "resourceId", "code", "attempts", "updatedAt"];
    const steps = actions.flatMap(({ nextStep }) =>
      nextStep ? [`Next: ${callText(nextStep)} (${nextStep.why})`] : [],
    );
    const text = [head, table(columns, rows), ...steps].join("\n");
    return wholeResult({ actions }, { text, link: uris.actions });
  },
});
