// The failures of an action whose outcome is not known: what may have happened, until when repeating the call is safe, and the
// exact call to make; or why nothing was sent.
import { Failure } from "../failure.ts";
import { json, word } from "../outside.ts";
import { differingArguments, readCanonical } from "./canonical.ts";
import type { ActionIdentity } from "./identity.ts";
import type { StoredAction } from "./journal.ts";

/** A call that its failure asks the agent to repeat. */
export interface RepeatableCall {
  readonly tool: string;
  readonly arguments: Readonly<Record<string, unknown>>;
  /** How an agent finds out whether it happened, where the service may have forgotten the key. */
  readonly findOut: string;
}

/** An action that was sent, or may have been. */
export type SentAction = Pick<StoredAction, "key" | "first_sent_at">;

/** Arguments longer than this as JSON are not said again. */
const MAX_REPEATED = 2_000;

function exactCall({ tool, arguments: meant }: Omit<RepeatableCall, "findOut">, key: string): string {
  const whole = json({ ...meant, idempotencyKey: key });
  if (whole.length <= MAX_REPEATED) return `${tool} ${whole}`;
  return `${tool} with the very same arguments and "idempotencyKey":${json(key)}`;
}

/** `failure` left open what happened: `untilAt`, in milliseconds since 1970, ends the time in which the call may be repeated. */
export function withRepeatAdvice(
  failure: Failure,
  { key }: SentAction,
  call: RepeatableCall,
  untilAt: number,
): Failure {
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
export function tooOldToResend(
  { key, first_sent_at }: SentAction,
  { findOut }: RepeatableCall,
  resendMs: number,
): Failure {
  const since = new Date(first_sent_at).toISOString();
  return unknownOutcome(
    `This action was first sent at ${since}, more than ${Math.round(resendMs / 3_600_000)} h ago, and its outcome was never learned; the service may have forgotten its key, so it is not sent again.`,
  ).with({
    retryable: false,
    idempotencyKey: key,
    next: `First find out: ${findOut} If it did not happen, call again with a new idempotencyKey of your own (8-128 letters, digits, - or _).`,
  });
}

/** `sinceMs` in words: "2 minutes". */
function duration(sinceMs: number): string {
  const units = [
    ["day", 86_400_000],
    ["hour", 3_600_000],
    ["minute", 60_000],
    ["second", 1_000],
  ] as const;
  const [name, unitMs] = units.find(([, ms]) => sinceMs >= ms) ?? ["second", 1_000];
  const count = Math.max(0, Math.floor(sinceMs / unitMs));
  return `${count} ${name}${count === 1 ? "" : "s"}`;
}

/** First of all words of an outcome that an earlier call without a key has brought about. */
export const notDoneAgain = (createdAtMs: number, now: number): string =>
  `Not done again: this is the outcome of the same call of ${duration(now - createdAtMs)} ago. ` +
  "To do it once more on purpose, pass a new idempotencyKey.";

const refusedConflict = (message: string, key: string, next: string): Failure =>
  new Failure({
    kind: "conflict",
    message: `${message}; nothing was sent.`,
    retryable: false,
    sideEffect: "none",
    idempotencyKey: key,
    next,
  });

/** A key of our own making that no action has: somebody copied it wrongly, and a new action under it might be the second one. */
export const unknownKey = (key: string): Failure =>
  refusedConflict(
    `No action has the key ${word(key)}`,
    key,
    "Copy the key exactly; list_actions has the keys. For a new action leave idempotencyKey out.",
  );

/** An earlier action, worded otherwise, may be what this call asks for. */
export function settleFirst(stored: StoredAction, tool: string, canonical: string): Failure {
  const names = differingArguments(stored.arguments, canonical).join(", ");
  const sentAt = new Date(stored.created_at).toISOString();
  const state = stored.state === "open" ? "is not settled" : "has an unknown outcome";
  const meant = { tool, arguments: readCanonical(stored.arguments) };
  return new Failure({
    kind: "conflict",
    message: `An earlier ${tool} of ${sentAt} that differs only in ${names} ${state}; this call sent nothing, but the earlier one may have taken effect.`,
    retryable: false,
    sideEffect: "unknown",
    idempotencyKey: stored.key,
    next: `Settle the earlier one first; this cannot make it happen twice: ${exactCall(meant, stored.key)} If a second one is wanted all the same, pass a new idempotencyKey of your own (8-128 letters, digits, - or _).`,
  });
}

/** Throws Failure when the key of `stored` is not for this call. */
export function refuseOtherCommand(stored: StoredAction, tool: string, identity: ActionIdentity): void {
  const belongs = (to: string) =>
    refusedConflict(
      `The key ${word(stored.key)} belongs to an action ${to}`,
      stored.key,
      "Leave idempotencyKey out for a new action, or repeat that action's own arguments.",
    );
  if (stored.tool !== tool) throw belongs(`of ${stored.tool}`);
  if (stored.subject_hash === identity.subjectHash || stored.arguments === identity.canonical) return;
  throw belongs(`with other arguments (${differingArguments(stored.arguments, identity.canonical).join(", ")})`);
}
