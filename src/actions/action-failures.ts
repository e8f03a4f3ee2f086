// This module builds the failures of actions with an unknown outcome, and of calls that name the key of another action.
import { Failure, type FailureFacts } from "../core/failure.ts";
import { call, join, mapData, say, type Text } from "../core/text.ts";
import { journalFailure } from "../store/database.ts";
import type { StoredAction } from "./action-row.ts";
import { DEDUPLICATION_WINDOW_MS } from "./deduplication-window.ts";
import { type ActionIdentity, differingArguments, withoutSpelling } from "./fingerprint.ts";
import { deriveRepeatKey } from "./idempotency-keys.ts";

/** An action that was sent, or may have been sent. */
export type SentAction = Pick<StoredAction, "key" | "first_sent_at">;

/**
 * Adds how to learn the outcome. The cause is the failure without it. `verificationAdvice`: another way to check the outcome.
 * `outageLeftMs`: the time to wait if the API has asked for none.
 */
export function withResumeAdvice(
  failure: Failure,
  { key, first_sent_at }: SentAction,
  verificationAdvice: Text,
  outageLeftMs: number,
): Failure {
  const { kind, next, retryAfterSeconds = Math.ceil(outageLeftMs / 1_000) } = failure.facts;
  const until = new Date(first_sent_at + DEDUPLICATION_WINDOW_MS).toISOString();
  const wait = retryAfterSeconds === 0 ? say`Call` : say`Wait ${retryAfterSeconds} s, then call`;
  const resume = say`${wait} ${call("resolve_actions", { idempotencyKey: key })}, or make the same call again, before ${until}: either resumes this action, which never runs twice.`;
  // If the API also rejects the repeated call, that rejection may be final.
  const steps =
    kind === "outcome_unknown" ? [resume] : [next, resume, say`If that does not show it: ${verificationAdvice}`];
  const advised = { idempotencyKey: key, next: join(steps) };
  return new Failure({ ...failure.facts, ...advised }, { cause: failure });
}

export const unknownOutcomeFailure = (why: Text): Failure =>
  new Failure({
    kind: "outcome_unknown",
    message: say`${why} The action may or may not have taken effect.`,
    retryable: true,
    sideEffect: "unknown",
  });

/** The outcome of an action that was recorded too late to be sent. */
export const neverSentFailure = (): Failure =>
  new Failure({
    kind: "unavailable",
    message: say`Not sent: the journal confirmed the record of this action only after its call had ended.`,
    retryable: true,
    sideEffect: "none",
  });

/** Failure of a call if the journal, which may contain its action, cannot be read. `key`: the key that the call named. */
export function unreadableOutcomeFailure(error: unknown, key: string | undefined): Failure {
  const failure = journalFailure(error);
  const message = say`${failure.facts.message} This call sent nothing; without the journal it is unknown whether an earlier identical call took effect.`;
  const facts: Partial<FailureFacts> = { message, sideEffect: "unknown" };
  return failure.with(key === undefined ? facts : { ...facts, idempotencyKey: key });
}

/** Failure of a call with a new key, which instead worked on an unresolved identical action. `key`: that action's. */
export const unusedKeyFailure = (failure: Failure, key: string): Failure =>
  failure.with({
    message: say`An identical call (idempotencyKey ${key}) was unresolved, so nothing was sent under the new key. ${failure.facts.message}`,
  });

/** Returns the failure with the caller's key, which also replaces the upstream idempotency key in the API's texts. */
export function withCallerKey(failure: Failure, upstreamKey: string, key: string): Failure {
  const keyed = failure.with({ idempotencyKey: key });
  if (upstreamKey === key) return keyed;
  const replaceKey = (text: string): string => text.replaceAll(upstreamKey, () => key);
  const { message, next, fieldErrors } = keyed.facts;
  return keyed.with({
    message: mapData(message, replaceKey),
    next: next && mapData(next, replaceKey),
    ...(fieldErrors && {
      fieldErrors: fieldErrors.map(({ message: text, ...field }) => ({
        ...field,
        message: typeof text === "string" ? replaceKey(text) : text,
      })),
    }),
  });
}

/** The API forgets keys after an unstated time. Sending an old action, or one of unknown age, again might therefore run it twice. */
export function tooOldToResendFailure({
  key,
  first_sent_at,
  read_at,
}: SentAction & Pick<StoredAction, "read_at">): Failure {
  const since = new Date(first_sent_at).toISOString();
  const age =
    first_sent_at > read_at
      ? say`which is in the future: the clock was set back, so its age and its outcome are unknown`
      : say`more than ${DEDUPLICATION_WINDOW_MS / 3_600_000} h ago, and its outcome is unknown`;
  return unknownOutcomeFailure(
    say`This action was first sent at ${since}, ${age}. The API may have forgotten its key, so it is not sent again.`,
  ).with({
    retryable: false,
    idempotencyKey: key,
    next: say`First find out: ${call("resolve_actions", { idempotencyKey: key })} says what the API shows of it. If it did not happen, call again with idempotencyKey ${deriveRepeatKey(key)}.`,
  });
}

/** True for a failure that no repetition of the call changes, because its action is too old. */
export const isTooOldFailure = (error: unknown): error is Failure =>
  error instanceof Failure && error.facts.kind === "outcome_unknown" && !error.facts.retryable;

const conflictFailure = (message: Text, next: Text): Failure =>
  new Failure({
    kind: "conflict",
    message: say`${message}.`,
    retryable: false,
    sideEffect: "none",
    next,
  });

/** A key in mic-mcp's own format that no action has was copied wrongly. A new action under it might run the intended one twice. */
export const unknownKeyFailure = (key: string): Failure =>
  conflictFailure(
    say`No action has the key ${key}`,
    say`Copy the key exactly. list_actions shows the keys. For a new action, leave idempotencyKey out.`,
  );

const keyOfOtherActionFailure = (key: string, to: Text): Failure =>
  conflictFailure(
    say`The key ${key} belongs to an action ${to}`,
    say`Omit idempotencyKey for a new action, or repeat the original arguments.`,
  );

const otherArgumentsFailure = ({ key, arguments: stored }: StoredAction, { canonical }: ActionIdentity): Failure =>
  keyOfOtherActionFailure(key, say`with other arguments (${join(differingArguments(stored, canonical), ", ")})`);

const isIdentical = (stored: StoredAction, { fingerprint, boundFingerprint }: ActionIdentity): boolean =>
  stored.fingerprint === fingerprint || (boundFingerprint !== null && stored.bound_fingerprint === boundFingerprint);

/** Throws Failure if `stored`, the action with this call's key, is not the action of this call. */
export function assertSameAction(stored: StoredAction, tool: string, identity: ActionIdentity): void {
  if (stored.tool !== tool) throw keyOfOtherActionFailure(stored.key, say`of ${stored.tool}`);
  if (!isIdentical(stored, identity) && stored.arguments !== identity.canonical)
    throw otherArgumentsFailure(stored, identity);
}

/** A retry sends the stored bytes, so notes that differ from those of the rejected action would be lost. Throws Failure. */
export function assertSameNotes(stored: StoredAction, identity: ActionIdentity): void {
  if (withoutSpelling(stored.arguments) !== withoutSpelling(identity.canonical))
    throw otherArgumentsFailure(stored, identity);
}
