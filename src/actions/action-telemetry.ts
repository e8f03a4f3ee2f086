// This module reports to telemetry how the calls of actions end.
import { Failure } from "../core/failure.ts";
import type { ActionOutcome, Outcome, Telemetry } from "../telemetry/port.ts";
import type { Actions, PerformedAction } from "./actions.ts";

function toActionEnd(outcome: Outcome<PerformedAction>): ActionOutcome {
  if ("value" in outcome) {
    const { replayed, attempts } = outcome.value;
    return { state: "succeeded", replayed, attempts };
  }
  const sideEffect = outcome.error instanceof Failure ? outcome.error.facts.sideEffect : "unknown";
  const state = sideEffect === "done" ? "succeeded" : sideEffect === "none" ? "rejected" : "unknown";
  return { state, replayed: false };
}

/** Returns the same actions, and reports the state of each action at the end of a call to telemetry. */
export const withActionTelemetry = (actions: Actions, telemetry: Telemetry): Actions => ({
  ...actions,
  perform: (call) => telemetry.traceAction(call.tool, () => actions.perform(call), toActionEnd),
});
