// The steps of run_job, as results and failures show them.
import { Failure } from "../../failure.ts";
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

/** A later step has failed: states what this call did before, which the same call uses again. */
export function failedAfter(steps: readonly Step[], failure: Failure): Failure {
  const ids = steps
    .filter(({ tool, replayed }) => tool === "register_input" && !replayed)
    .map(({ resourceId }) => word(resourceId));
  if (ids.length === 0) return failure;
  const [inputs, them] = ids.length === 1 ? ["input", "it"] : ["inputs", "them"];
  const done = `Already done: registered ${inputs} ${ids.join(", ")}; calling run_job again reuses ${them}.`;
  const isSubmitted = steps.some(({ tool }) => tool === "submit_job");
  if (isSubmitted || failure.facts.sideEffect !== "none") return failure.with({ earlierSteps: done });
  // A rejected step's key would invite a call that is rejected again.
  const { idempotencyKey, ...facts } = failure.facts;
  return new Failure({ ...facts, earlierSteps: `No job was submitted. ${done}` }, { cause: failure.cause });
}
