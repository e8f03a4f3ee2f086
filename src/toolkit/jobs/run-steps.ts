// What the steps of run_job have come to, as results and failures show it.
import type { Failure } from "../../failure.ts";
import { word } from "../../outside.ts";
import { table } from "../../table.ts";
import type { ActionResult, AdvisedResult } from "../results.ts";
import type { ToolName } from "../tool-names.ts";

/** One action of a call, as the journal has it. */
export interface Step {
  readonly tool: ToolName;
  readonly idempotencyKey: string;
  readonly resourceId: string;
  readonly replayed: boolean;
}

export const stepOf = (
  tool: ToolName,
  { data, action }: Pick<ActionResult<{ readonly id: string }>, "data" | "action">,
): Step => ({ tool, idempotencyKey: action.idempotencyKey, resourceId: data.id, replayed: action.replayed });

/** The result with the steps that led to it in the place of the one action. `notice` comes first of all. */
export function withSteps<T>(
  { structured, text, advice, ...result }: AdvisedResult<T>,
  steps: readonly Step[],
  notice?: string,
): AdvisedResult<T> {
  const summary = notice === undefined ? advice.summary : `${notice} ${advice.summary}`;
  const { action, ...shown }: Readonly<Record<string, unknown>> = { ...structured };
  const columns = ["tool", "idempotencyKey", "resourceId", "replayed"] as const;
  const rows = steps.map((step) => columns.map((column) => String(step[column])));
  const lines = [notice === undefined ? text : `${notice} ${text}`, "steps:", table(columns, rows)];
  return {
    ...result,
    advice: { ...advice, summary },
    structured: { ...shown, summary, steps },
    text: lines.join("\n"),
  };
}

/** A later step has failed: what this call did before has happened all the same. */
export function failedAfter(steps: readonly Step[], failure: Failure): Failure {
  const done = steps.filter(({ replayed }) => !replayed);
  if (done.length === 0) return failure;
  const made = done.map(({ tool, resourceId }) => `${tool} made ${word(resourceId)}`).join(", ");
  const { message, sideEffect } = failure.facts;
  return failure.with({
    message: `${message} Steps before this one took effect (${made}); the same run_job call goes on from there.`,
    sideEffect: sideEffect === "none" ? "done" : sideEffect,
  });
}
