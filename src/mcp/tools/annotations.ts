// Derives a tool's annotations from its `effect`, so that they cannot contradict each other.
import type { ToolAnnotations } from "@modelcontextprotocol/server";
import type { Effect } from "../../toolkit/define-tool.ts";

const HINTS: Readonly<Record<Effect, Omit<ToolAnnotations, "title">>> = {
  read: { readOnlyHint: true, destructiveHint: false, idempotentHint: true },
  save: { readOnlyHint: false, destructiveHint: false, idempotentHint: false },
  create: { readOnlyHint: false, destructiveHint: false, idempotentHint: false },
  cancel: { readOnlyHint: false, destructiveHint: true, idempotentHint: false },
  // RESTART discards finished stages.
  retry: { readOnlyHint: false, destructiveHint: true, idempotentHint: false },
};

export const annotationsOf = (effect: Effect): ToolAnnotations => ({ ...HINTS[effect], openWorldHint: true });
