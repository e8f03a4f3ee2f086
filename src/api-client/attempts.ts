// When a call is tried again, and for how long: docs/architecture.md, "The way of a call".
import { setTimeout as sleep } from "node:timers/promises";
import type { Endpoint } from "../contract/endpoints/endpoint.ts";
import { Failure, type FailureKind } from "../core/failure.ts";
import { isTransient } from "./classify.ts";

// Three limits, one inside the other: a tool call, an attempt of it, and the least that is worth beginning.

/** A whole tool call ends within this, retries included: many clients give up at 60 s. */
export const CALL_LIMIT_MS = 45_000;
/** One attempt: a lost answer must leave time for a second one. */
export const ATTEMPT_LIMIT_MS = 20_000;
/** With less time left than this, an attempt is not worth starting. */
const MIN_ATTEMPT_MS = 250;
/** Kept back from a call's end, to write its answer. */
export const ANSWER_MARGIN_MS = 500;

const MAX_ATTEMPTS = 6;
const BACKOFF_BASE_MS = 250;
const BACKOFF_CAP_MS = 5_000;

/** An attempt that failed and is followed by another. */
export interface FailedAttempt {
  readonly operation: string;
  readonly attempt: number;
  readonly kind: FailureKind;
  readonly status: number | undefined;
  /** The service's own name for it. */
  readonly requestId: string | undefined;
}

/** What one tool call brings to every request it makes. */
export interface CallContext {
  /** Aborted when the client cancels the call or goes away. */
  readonly signal: AbortSignal;
  /** Milliseconds since 1970 at which the call must have ended. */
  readonly deadlineAt: number;
  /** Fewer attempts than usual: 1 where the caller has a retry policy of its own. */
  readonly maxAttempts?: number;
  readonly sharedRetryAfter?: SharedRetryAfter;
  readonly onFailedAttempt?: (attempt: FailedAttempt) => void;
}

/** What requests of one call share: a Retry-After that one of them gets holds them all. */
export interface SharedRetryAfter {
  /** Milliseconds since 1970 before which none is sent. */
  heldUntilAt: number;
}

export interface Timing {
  now(): number;
  /** 0 to below 1. */
  random(): number;
  /** Rejects with the signal's reason once it is aborted. */
  sleep(ms: number, signal: AbortSignal): Promise<void>;
}

export const systemTiming: Timing = {
  now: () => Date.now(),
  random: () => Math.random(),
  sleep: async (ms, signal) => {
    await sleep(ms, undefined, { signal });
  },
};

export const timeLeftMs = (context: CallContext, timing: Timing): number => context.deadlineAt - timing.now();

/** What one attempt may take now. */
export const attemptLimitMs = (context: CallContext, timing: Timing): number =>
  Math.max(1, Math.min(ATTEMPT_LIMIT_MS, timeLeftMs(context, timing)));

/**
 * Waits before the next attempt: the service's Retry-After in full, else exponential backoff with full jitter.
 * False, at once, when the attempts are used up or the wait does not fit the time left.
 */
export async function waitBeforeRetry(
  attempt: number,
  failure: Failure,
  context: CallContext,
  timing: Timing,
): Promise<boolean> {
  const { retryAfterSeconds, status } = failure.facts;
  // The first request under this key is still being worked on: its answer is worth all the time there is.
  const inProgress = status === 409;
  const backoffMs = timing.random() * Math.min(BACKOFF_CAP_MS, BACKOFF_BASE_MS * 2 ** attempt);
  const ownWaitMs =
    retryAfterSeconds === undefined ? Math.max(backoffMs, inProgress ? BACKOFF_BASE_MS : 0) : retryAfterSeconds * 1000;
  const { sharedRetryAfter } = context;
  const now = timing.now();
  if (sharedRetryAfter && retryAfterSeconds !== undefined)
    sharedRetryAfter.heldUntilAt = Math.max(sharedRetryAfter.heldUntilAt, now + ownWaitMs);
  const waitMs = Math.max(ownWaitMs, (sharedRetryAfter?.heldUntilAt ?? now) - now);
  if (attempt >= (context.maxAttempts ?? MAX_ATTEMPTS) && !inProgress) return false;
  if (waitMs + MIN_ATTEMPT_MS > timeLeftMs(context, timing)) return false;
  await timing.sleep(waitMs, context.signal);
  return true;
}

interface RetryOptions {
  readonly endpoint: Endpoint;
  readonly context: CallContext;
  readonly timing: Timing;
}

/** The first success of `attempt`, which gets its number, from 1. Throws the Failure that is not worth another one. */
export async function withRetries<T>(
  { endpoint, context, timing }: RetryOptions,
  attempt: (attempt: number) => Promise<T>,
): Promise<T> {
  for (let attempts = 1; ; attempts++) {
    try {
      return await attempt(attempts);
    } catch (error) {
      if (!(error instanceof Failure) || !isTransient(endpoint, error)) throw error;
      if (!(await waitBeforeRetry(attempts, error, context, timing))) throw error;
      const { kind, status, requestId } = error.facts;
      context.onFailedAttempt?.({ operation: endpoint.id, attempt: attempts, kind, status, requestId });
    }
  }
}
