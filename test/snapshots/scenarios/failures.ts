// Records the errors that each reading tool has, and the states that each action has.
import type { Args, Recorder } from "../recorder.ts";

/** Makes the operation's next answer a success with `data`, for states that the emulator does not reach on its own. */
export const injectAnswer = (recorder: Recorder, operationId: string, data: unknown) =>
  recorder.service.injectFault(
    { kind: "body", status: 200, body: JSON.stringify({ data, meta: { requestId: `micreq_${"0".repeat(32)}` } }) },
    { operationId },
  );

/** The delay is too long for a call, so the answer comes at once. */
const FAULTS = {
  "Not allowed": { kind: "status", status: 403 },
  "Rate limited": { kind: "status", status: 429, retryAfterSeconds: 60 },
  "The service fails": { kind: "status", status: 503, retryAfterSeconds: 60 },
} as const;

/** `invalid` are arguments that are always invalid. A tool that caches its reads restarts before each fault. */
export async function recordReadFailures(
  recorder: Recorder,
  operationId: string,
  args: Args,
  invalid: Args,
): Promise<void> {
  const restart = async () => void (operationId.includes("Playground") && (await recorder.restart()));
  await restart();
  await recorder.service.injectFault(FAULTS["Not allowed"], { operationId });
  await recorder.record("Not allowed", args);
  await recorder.service.injectFault(
    { kind: "body", body: "<html>Welcome</html>", contentType: "text/html" },
    { operationId },
  );
  await recorder.record("The answer breaks the contract", args);
  for (const state of ["Rate limited", "The service fails"] as const) {
    await restart();
    await recorder.service.injectFault(FAULTS[state], { operationId });
    await recorder.record(state, args);
  }
  await recorder.record("Invalid arguments", invalid);
  await recorder.recordUnconfigured(args);
}

export interface ActionScenario {
  readonly operationId: string;
  /** Creates different arguments for each count, for an action that has not run yet. */
  readonly createArguments: (count: number) => Promise<Args>;
  /** The same action with another note, if the tool has one. */
  readonly withOtherNote?: (args: Args) => Args;
  readonly invalid: Args;
}

/** The action takes effect, but its answer is an error: the outcome is unknown. */
export const injectLostOutcome = (recorder: Recorder, operationId: string) =>
  recorder.service.injectFault(
    { kind: "status", status: 503, retryAfterSeconds: 60, afterCommit: true },
    { operationId },
  );

export async function recordActionStates(recorder: Recorder, scenario: ActionScenario): Promise<void> {
  const { operationId, withOtherNote, invalid } = scenario;
  let count = 0;
  const createArguments = () => scenario.createArguments(++count);
  const done = await createArguments();
  await recorder.record("Done", done);
  await recorder.record("The same call again: not run again", done);
  const withOwnKey = { ...(await createArguments()), idempotencyKey: "nightly-2100-01-15" };
  await recorder.record("Done under the agent's own key", withOwnKey);
  await recorder.record("The same key again: replayed", withOwnKey);
  await recorder.record("The key of another action", {
    ...(await createArguments()),
    idempotencyKey: "nightly-2100-01-15",
  });
  await recorder.record("A mistyped key", { ...(await createArguments()), idempotencyKey: `mic-${"0".repeat(32)}` });
  const withLostOutcome = await createArguments();
  await injectLostOutcome(recorder, operationId);
  const { error } = await recorder.record("The outcome is unknown", withLostOutcome);
  if (withOtherNote)
    await recorder.record("Another note while the outcome is unknown: the same action", withOtherNote(withLostOutcome));
  else
    await recorder.record("The outcome is learned by the same call", {
      ...withLostOutcome,
      idempotencyKey: error?.idempotencyKey,
    });
  for (const state of ["Rate limited", "Not allowed"] as const) {
    await recorder.service.injectFault(FAULTS[state], { operationId });
    await recorder.record(state, await createArguments());
  }
  await recorder.record("Invalid arguments", invalid);
  await recorder.recordUnconfigured(done);
}
