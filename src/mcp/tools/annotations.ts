// A tool's annotations, derived from its one `effect`, so that contradictory hints cannot be written.
import type { ToolAnnotations } from "@modelcontextprotocol/server";
import type { Effect } from "../../toolkit/define-tool.ts";

const HINTS: Readonly<Record<Effect, Omit<ToolAnnotations, "title">>> = {
  read: { readOnlyHint: true, destructiveHint: false, idempotentHint: true },
  save: { readOnlyHint: false, destructiveHint: false, idempotentHint: false },
  create: { readOnlyHint: false, destructiveHint: false, idempotentHint: false },
  cancel: { readOnlyHint: false, destructiveHint: true, idempotentHint: false },
  // RESTART throws finished stages away.
  retry: { readOnlyHint: false, destructiveHint: true, idempotentHint: false },
};

export const annotationsOf = (effect: Effect): ToolAnnotations => ({ ...HINTS[effect], openWorldHint: true });
