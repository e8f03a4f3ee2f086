// The failures that every tool over one operation has, and the states that every action has.
import type { Args, Stage } from "../stage.ts";

/** The operation's next answer is a success with this: for states that the emulator does not come to by itself. */
export const answerOnce = (stage: Stage, operationId: string, data: unknown) =>
  stage.service.fault(
    { kind: "body", status: 200, body: JSON.stringify({ data, meta: { requestId: `micreq_${"0".repeat(32)}` } }) },
    { operationId },
  );

/** A wait that does not fit a call: the answer comes at once. */
const FAULTS = {
  "Not allowed": { kind: "status", status: 403 },
  "Rate limited": { kind: "status", status: 429, retryAfterSeconds: 60 },
  "The service fails": { kind: "status", status: 503, retryAfterSeconds: 60 },
} as const;

export interface Reading {
  readonly operationId: string;
  readonly args: Args;
  /** What no call may have. */
  readonly wrong: Args;
}

/** `startAnew` comes before each where what was read is kept, or a wait is. */
export async function readFailures(
  stage: Stage,
  { operationId, args, wrong }: Reading,
  startAnew: () => Promise<void> = async () => undefined,
): Promise<void> {
  await startAnew();
  await stage.service.fault(FAULTS["Not allowed"], { operationId });
  await stage.show("Not allowed", args);
  await stage.service.fault({ kind: "body", body: "<html>Welcome</html>", contentType: "text/html" }, { operationId });
  await stage.show("The answer breaks the contract", args);
  for (const state of ["Rate limited", "The service fails"] as const) {
    await startAnew();
    await stage.service.fault(FAULTS[state], { operationId });
    await stage.show(state, args);
  }
  await stage.show("Invalid arguments", wrong);
  await stage.showBare(args);
}

export interface Acting {
  readonly operationId: string;
  /** Arguments of an action that was not done yet, each time others. */
  readonly fresh: () => Promise<Args>;
  /** The same action with another note, where the tool has one. */
  readonly renoted?: (args: Args) => Args;
  readonly wrong: Args;
}

/** It took effect, and the answer is a failure: nobody knows. */
export const loseOutcome = (stage: Stage, operationId: string) =>
  stage.service.fault({ kind: "status", status: 503, retryAfterSeconds: 60, afterCommit: true }, { operationId });

export async function actionStates(stage: Stage, acting: Acting): Promise<void> {
  const { operationId, fresh, renoted, wrong } = acting;
  const done = await fresh();
  await stage.show("Done", done);
  await stage.show("The same call again: not run again", done);
  const named = { ...(await fresh()), idempotencyKey: "nightly-2100-01-15" };
  await stage.show("Done under the agent's own key", named);
  await stage.show("The same key again: replayed", named);
  await stage.show("The key of another action", { ...(await fresh()), idempotencyKey: "nightly-2100-01-15" });
  await stage.show("A mistyped key", { ...(await fresh()), idempotencyKey: `mic-${"0".repeat(32)}` });
  const lost = await fresh();
  await loseOutcome(stage, operationId);
  const { error } = await stage.show("The outcome is unknown", lost);
  if (renoted) await stage.show("Another note while the outcome is unknown: the same action", renoted(lost));
  else await stage.show("The outcome is learned by the same call", { ...lost, idempotencyKey: error?.idempotencyKey });
  for (const state of ["Rate limited", "Not allowed"] as const) {
    await stage.service.fault(FAULTS[state], { operationId });
    await stage.show(state, await fresh());
  }
  await stage.show("Invalid arguments", wrong);
  await stage.showBare(done);
}
