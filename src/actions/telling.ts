// What an agent is told of an action that has no outcome to tell: what may have happened, until when asking again is safe,
// the exact call to make; or why nothing was sent.
import { Failure } from "../failure.ts";
import { json, word } from "../outside.ts";
import { differingArguments } from "./canonical.ts";
import type { StoredAction } from "./journal.ts";

/** The call that is told about. */
export interface ToldCall {
  readonly tool: string;
  readonly arguments: Readonly<Record<string, unknown>>;
  /** How an agent finds out whether it happened, where the service may have forgotten the key. */
  readonly findOut: string;
}

/** The action that is told about. */
export type Begun = Pick<StoredAction, "key" | "first_sent_at">;

/** Arguments longer than this as JSON are not said again. */
const MAX_REPEATED = 2_000;

function exactCall({ tool, arguments: meant }: ToldCall, key: string): string {
  const whole = json({ ...meant, idempotencyKey: key });
  if (whole.length <= MAX_REPEATED) return `${tool} ${whole}`;
  return `${tool} with the very same arguments and "idempotencyKey":${json(key)}`;
}

/** `failure` left open what happened: `untilAt`, in milliseconds since 1970, ends the time in which the call may be repeated. */
export function untold(failure: Failure, { key }: Begun, call: ToldCall, untilAt: number): Failure {
  const { kind, next, retryAfterSeconds } = failure.facts;
  const wait = retryAfterSeconds === undefined ? "" : `wait ${retryAfterSeconds} s, then `;
  const repeat =
    `To learn what happened, ${wait}make exactly this call before ${new Date(untilAt).toISOString()}; it resumes this ` +
    `action and cannot make it happen twice: ${exactCall(call, key)}`;
  // A refusal of the repeated call may be the last there is to hear.
  const steps = kind === "outcome_unknown" ? [repeat] : [next, repeat, `If that does not tell either: ${call.findOut}`];
  return failure.with({ idempotencyKey: key, next: steps.filter((step) => step !== undefined).join(" ") });
}

export const unknownOutcome = (why: string): Failure =>
  new Failure({
    kind: "outcome_unknown",
    message: `${why} The action may or may not have taken effect.`,
    retryable: true,
    sideEffect: "unknown",
  });

/** A service forgets keys at a time it does not say: from some age on, sending again might make it happen twice. */
export function tooOld({ key, first_sent_at }: Begun, { findOut }: ToldCall, resendMs: number): Failure {
  const since = new Date(first_sent_at).toISOString();
  return unknownOutcome(
    `This action was first sent at ${since}, more than ${Math.round(resendMs / 3_600_000)} h ago, and its outcome was never learned; the service may have forgotten its key, so it is not sent again.`,
  ).with({
    retryable: false,
    idempotencyKey: key,
    next: `First find out: ${findOut} If it did not happen, call again with a new idempotencyKey of your own (8-128 letters, digits, - or _).`,
  });
}

/** Throws Failure when the key of `stored` is not for this call. */
export function refuseOtherCommand(stored: StoredAction, tool: string, canonical: string): void {
  const belongs = (to: string) =>
    new Failure({
      kind: "conflict",
      message: `The key ${word(stored.key)} belongs to an action ${to}; nothing was sent.`,
      retryable: false,
      sideEffect: "none",
      idempotencyKey: stored.key,
      next: "Leave idempotencyKey out for a new action, or repeat that action's own arguments.",
    });
  if (stored.tool !== tool) throw belongs(`of ${stored.tool}`);
  if (stored.arguments === canonical) return;
  throw belongs(`with other arguments (${differingArguments(stored.arguments, canonical).join(", ")})`);
}
