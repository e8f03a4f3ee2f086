// Failures of an action whose outcome is unknown, with the call that resolves it; and of calls that name a key that is not theirs.
import { Failure, type FailureFacts } from "../core/failure.ts";
import { formatJson, formatToken } from "../core/untrusted-text.ts";
import { differingArguments } from "./canonical-json.ts";
import { DEDUPLICATION_WINDOW_MS } from "./deduplication-window.ts";
import type { ActionIdentity } from "./fingerprint.ts";
import type { StoredAction } from "./store/action-row.ts";
import { journalFailure } from "./store/database.ts";

/** An action that was sent, or may have been. */
export type SentAction = Pick<StoredAction, "key" | "first_sent_at">;

/** `failure` left open what happened. Adds the call that finds out, and until when. `findOut`: how an agent finds out otherwise. */
export function withResumeAdvice(
  failure: Failure,
  { key, first_sent_at }: SentAction,
  verificationAdvice: string,
): Failure {
  const { kind, next, retryAfterSeconds } = failure.facts;
  const until = new Date(first_sent_at + DEDUPLICATION_WINDOW_MS).toISOString();
  const wait = retryAfterSeconds === undefined ? "Call" : `Wait ${retryAfterSeconds} s, then call`;
  const resume =
    `${wait} resolve_actions ${formatJson({ idempotencyKey: key })}, or make the same call again, before ${until}: ` +
    "it resumes this action, which never runs twice.";
  // If the API refuses the repeated call too, that may be its last answer.
  const steps =
    kind === "outcome_unknown" ? [resume] : [next, resume, `If that does not show it: ${verificationAdvice}`];
  return failure.with({ idempotencyKey: key, next: steps.filter((step) => step !== undefined).join(" ") });
}

export const unknownOutcomeFailure = (why: string): Failure =>
  new Failure({
    kind: "outcome_unknown",
    message: `${why} The action may or may not have taken effect.`,
    retryable: true,
    sideEffect: "unknown",
  });

/** The journal cannot be read, and may hold the action. `key`: the one that the call gave. */
export function unreadableOutcomeFailure(error: unknown, key: string | undefined): Failure {
  const failure = journalFailure(error);
  const unknown =
    "This call sent nothing; without the journal it is unknown whether an earlier identical call took effect.";
  const facts: Partial<FailureFacts> = { message: `${failure.message} ${unknown}`, sideEffect: "unknown" };
  return failure.with(key === undefined ? facts : { ...facts, idempotencyKey: key });
}

/** The same failure, of the action with this key; where the service's words quote the key that it knows, they quote this one. */
export function withCallerKey(failure: Failure, upstreamKey: string, key: string): Failure {
  const keyed = failure.with({ idempotencyKey: key });
  if (upstreamKey === key) return keyed;
  const replaceKey = (text: string): string => text.replaceAll(upstreamKey, () => key);
  const { message, next, fieldErrors } = keyed.facts;
  return keyed.with({
    message: replaceKey(message),
    ...(next !== undefined && { next: replaceKey(next) }),
    ...(fieldErrors && { fieldErrors: fieldErrors.map((each) => ({ ...each, message: replaceKey(each.message) })) }),
  });
}

/** The API forgets keys at a time that it does not state: from some age on, sending again might run the action twice. */
export function tooOldToResendFailure({ key, first_sent_at }: SentAction, verificationAdvice: string): Failure {
  const since = new Date(first_sent_at).toISOString();
  return unknownOutcomeFailure(
    `This action was first sent at ${since}, more than ${DEDUPLICATION_WINDOW_MS / 3_600_000} h ago, and its outcome is unknown. The API may have forgotten its key, so it is not sent again.`,
  ).with({
    retryable: false,
    idempotencyKey: key,
    next: `First find out: ${verificationAdvice} If it did not happen, call again with a new idempotencyKey (8 to 128 letters, digits, - or _).`,
  });
}

const conflictFailure = (message: string, key: string, next: string): Failure =>
  new Failure({
    kind: "conflict",
    message: `${message}; nothing was sent.`,
    retryable: false,
    sideEffect: "none",
    idempotencyKey: key,
    next,
  });

/** A key in mic-mcp's own format that no action has: it was copied wrongly, and a new action under it might be the second one. */
export const unknownKeyFailure = (key: string): Failure =>
  conflictFailure(
    `No action has the key ${formatToken(key)}`,
    key,
    "Copy the key exactly; list_actions shows the keys. For a new action leave idempotencyKey out.",
  );

const keyOfOtherActionFailure = (key: string, to: string): Failure =>
  conflictFailure(
    `The key ${formatToken(key)} belongs to an action ${to}`,
    key,
    "Leave idempotencyKey out for a new action, or repeat that action's own arguments.",
  );

const otherArgumentsFailure = ({ key, arguments: stored }: StoredAction, { canonical }: ActionIdentity): Failure =>
  keyOfOtherActionFailure(key, `with other arguments (${differingArguments(stored, canonical).join(", ")})`);

/** Throws Failure if the key of `stored` belongs to another action than this call's. */
export function assertSameAction(stored: StoredAction, tool: string, identity: ActionIdentity): void {
  if (stored.tool !== tool) throw keyOfOtherActionFailure(stored.key, `of ${stored.tool}`);
  if (stored.fingerprint !== identity.fingerprint && stored.arguments !== identity.canonical)
    throw otherArgumentsFailure(stored, identity);
}

/** Throws Failure if this call's notes differ from those of a rejected action, which sends its own bytes again: they would be lost. */
export function assertSameNotes(stored: StoredAction, identity: ActionIdentity): void {
  if (stored.arguments !== identity.canonical) throw otherArgumentsFailure(stored, identity);
}
