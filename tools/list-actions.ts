import * as z from "zod/v4";
import { DEFAULT_LIMIT, listActions as readActions } from "../src/actions/listing.ts";
import { uris } from "../src/catalogue/resources/uri.ts";
import { outputs, table } from "../src/catalogue/results.ts";
import { defineTool } from "../src/catalogue/tool.ts";

export const listActions = defineTool({
  name: "list_actions",
  title: "List actions",
  description:
    "What this server did at the service, newest first: what is open or unknown, and the key that resumes it.",
  effect: "read",
  input: z.strictObject({
    state: z.enum(["open", "succeeded", "rejected", "unknown"]).optional(),
    limit: z.int().min(1).max(100).describe("Default 20.").optional(),
  }),
  output: outputs.actions,
  async run({ state, limit = DEFAULT_LIMIT }, call) {
    const actions = await readActions(await call.journal(), {
      service: await call.serviceName().catch(() => undefined),
      state,
      limit,
      now: call.service.timing.now(),
    });
    const rows = actions.map((action) => [
      action.tool,
      action.state,
      action.idempotencyKey,
      action.resourceId ?? "",
      action.attempts,
      action.updatedAt,
    ]);
    const head = `${actions.length} actions${state === undefined ? "" : ` ${state}`}.`;
    const columns = ["tool", "state", "idempotencyKey", "resourceId", "attempts", "updatedAt"];
    return { structured: { actions }, text: `${head}\n${table(columns, rows)}`, drift: [], link: uris.actions };
  },
});
