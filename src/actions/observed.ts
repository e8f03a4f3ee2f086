// Reports to telemetry how each action stood at the end of a call.
import { Failure } from "../failure.ts";
import type { ActionEnd, Ending, Telemetry } from "../telemetry/port.ts";
import type { PerformedAction } from "./actions.ts";
import type { ServiceActions } from "./of-service.ts";

function endOf(ending: Ending<PerformedAction>): ActionEnd {
  if ("value" in ending) {
    const { replayed, attempts } = ending.value;
    return { state: "succeeded", replayed, attempts };
  }
  const sideEffect = ending.error instanceof Failure ? ending.error.facts.sideEffect : "unknown";
  const state = sideEffect === "done" ? "succeeded" : sideEffect === "none" ? "rejected" : "unknown";
  return { state, replayed: false };
}

/** The same actions, reported to telemetry. */
export const observedActions = (actions: ServiceActions, telemetry: Telemetry): ServiceActions => ({
  ...actions,
  perform: (call) => telemetry.action(call.tool, () => actions.perform(call), endOf),
});
