// What telemetry learns of actions: how each stood at the end of a call, and how long its outcome took to leave.
import { Failure } from "../failure.ts";
import type { ActionEnd, Ending, Telemetry } from "../telemetry/port.ts";
import type { Delivery, PerformedAction } from "./actions.ts";
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

/** The same actions, told to telemetry. */
export const observedActions = (actions: ServiceActions, telemetry: Telemetry): ServiceActions => ({
  ...actions,
  perform(call) {
    function carry(delivery: Delivery): void {
      const knownAt = performance.now();
      call.carry({
        ...delivery,
        async sent() {
          telemetry.told((performance.now() - knownAt) / 1_000);
          await delivery.sent();
        },
      });
    }
    return telemetry.action(call.tool, () => actions.perform({ ...call, carry }), endOf);
  },
});
