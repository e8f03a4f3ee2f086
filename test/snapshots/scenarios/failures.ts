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
  "Not allowed": { status: 403, kind: "forbidden", geographyCode: "PLAYGROUND_REQUEST_DENIED" },
  "Rate limited": { status: 429, kind: "rate_limited", geographyCode: "PLAYGROUND_RATE_LIMITED" },
  "The service fails": {
    ...{ status: 503, kind: "upstream_unavailable" },
    geographyCode: "PLAYGROUND_UPSTREAM_UNAVAILABLE",
  },
} as const;

/** A tool of the geography caches its reads, so it restarts before the fault. */
async function recordFault(recorder: Recorder, state: keyof typeof FAULTS, operationId: string, args: Args) {
  const { status, kind, geographyCode } = FAULTS[state];
  const isGeography = operationId.includes("Playground");
  if (isGeography) await recorder.restart();
  const retryAfter = status === 403 ? {} : { retryAfterSeconds: 60 };
  await recorder.service.injectFault({ kind: "status", status, ...retryAfter }, { operationId });
  await recorder.record(state, args, `${kind} ${isGeography ? geographyCode : "FAULT_ON_REQUEST"}`);
}

/** `codes`: the codes of the invalid arguments; undefined if the tool has no arguments, and ignores them. */
export async function recordReadFailures(
  recorder: Recorder,
  operationId: string,
  args: Args,
  invalid: Args,
  codes?: string,
): Promise<void> {
  await recordFault(recorder, "Not allowed", operationId, args);
  await recorder.service.injectFault(
    { kind: "body", body: "<html>Welcome</html>", contentType: "text/html" },
    { operationId },
  );
  await recorder.record("The answer breaks the contract", args, "contract_violation");
  await recordFault(recorder, "Rate limited", operationId, args);
  await recordFault(recorder, "The service fails", operationId, args);
  await recorder.record("Invalid arguments", invalid, codes && `invalid_arguments ${codes}`);
  await recorder.recordUnconfigured(args);
}

export interface ActionScenario {
  readonly operationId: string;
  /** Creates different arguments for each count, for an action that has not run yet. */
  readonly createArguments: (count: number) => Promise<Args>;
  /** The same action with another note, if the tool has one. */
  readonly withOtherNote?: (args: Args) => Args;
  readonly invalid: Args;
  /** The codes of the invalid arguments, sorted. */
  readonly codes: string;
}

/** The action takes effect, but its answer is an error: the outcome is unknown. */
export const injectLostOutcome = (recorder: Recorder, operationId: string) =>
  recorder.service.injectFault(
    { kind: "status", status: 503, retryAfterSeconds: 60, afterCommit: true },
    { operationId },
  );

export async function recordActionStates(recorder: Recorder, scenario: ActionScenario): Promise<void> {
  const { operationId, withOtherNote, invalid, codes } = scenario;
  let count = 0;
  const createArguments = () => scenario.createArguments(++count);
  const done = await createArguments();
  await recorder.record("Done", done);
  await recorder.record("The same call again: not run again", done);
  const withOwnKey = { ...(await createArguments()), idempotencyKey: "nightly-2100-01-15" };
  await recorder.record("Done under the agent's own key", withOwnKey);
  await recorder.record("The same key again: replayed", withOwnKey);
  const { idempotencyKey } = withOwnKey;
  await recorder.record("The key of another action", { ...(await createArguments()), idempotencyKey }, "conflict");
  const mistyped = { ...(await createArguments()), idempotencyKey: `mic-${"0".repeat(32)}` };
  await recorder.record("A mistyped key", mistyped, "conflict");
  const withLostOutcome = await createArguments();
  await injectLostOutcome(recorder, operationId);
  const { error } = await recorder.record(
    "The outcome is unknown",
    withLostOutcome,
    "outcome_unknown FAULT_ON_REQUEST",
  );
  if (withOtherNote)
    await recorder.record("Another note while the outcome is unknown: the same action", withOtherNote(withLostOutcome));
  else
    await recorder.record("The outcome is learned by the same call", {
      ...withLostOutcome,
      idempotencyKey: error?.idempotencyKey,
    });
  for (const state of ["Rate limited", "Not allowed"] as const)
    await recordFault(recorder, state, operationId, await createArguments());
  await recorder.record("Invalid arguments", invalid, `invalid_arguments ${codes}`);
  await recorder.recordUnconfigured(done);
}
