// This module decides when and for how long a call is retried (docs/contribute/architecture.md, "Request lifecycle"), and awaits the
// cooldown that the API asked for.
import { setTimeout as sleep } from "node:timers/promises";
import type { Endpoint } from "../contract/endpoints/endpoint.ts";
import { Failure, type FailureKind } from "../core/failure.ts";
import type { Cooldown } from "../core/hooks.ts";
import { isTransient, parseRetryAfter } from "./classify.ts";

// There are three nested time limits: for a tool call, for one attempt, and the minimum for starting an attempt.

/** A tool call ends within this time, retries included. Many clients give up after 60 s. */
export const CALL_LIMIT_MS = 45_000;
/** Time limit of one attempt. A lost response must leave time for a second attempt. */
export const ATTEMPT_LIMIT_MS = 20_000;
/** No attempt starts with less time left than this. */
const MIN_ATTEMPT_MS = 250;
/** Time reserved at the end of a call to write its result. */
export const ANSWER_MARGIN_MS = 500;

const MAX_ATTEMPTS = 6;
const BACKOFF_BASE_MS = 250;
const BACKOFF_CAP_MS = 5_000;

/** A failed attempt that is followed by another one. */
export interface FailedAttempt {
  readonly operation: string;
  readonly attempt: number;
  readonly kind: FailureKind;
  readonly status: number | undefined;
  /** The API's id of the request. */
  readonly requestId: string | undefined;
}

/** The context of one tool call, which all its requests share. */
export interface CallContext {
  /** Aborted when the client cancels the call or disconnects. */
  readonly signal: AbortSignal;
  /** Time by which the call must have ended, in milliseconds since 1970. */
  readonly deadlineAt: number;
  /** An attempt may continue for this time after the deadline (default 0), because its outcome is recorded for a later call. */
  readonly graceMs?: number;
  /** Maximum number of attempts (default 6); 1 if the calling code has its own retry policy. */
  readonly maxAttempts?: number;
  readonly sharedRetryAfter?: SharedRetryAfter;
  readonly onFailedAttempt?: (attempt: FailedAttempt) => void;
}

/** State that the requests of one call share: a Retry-After that one of them receives delays them all. */
export interface SharedRetryAfter {
  /** No request is sent before this time, in milliseconds since 1970. */
  heldUntilAt: number;
}

export interface Timing {
  /** Returns milliseconds since 1970. */
  now(): number;
  /** Returns a number of at least 0 and below 1. */
  random(): number;
  /** Rejects with the signal's reason when the signal is aborted. */
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

/** Returns the time limit of an attempt that starts now, in milliseconds. */
export const attemptLimitMs = (context: CallContext, timing: Timing): number =>
  Math.max(1, Math.min(ATTEMPT_LIMIT_MS, timeLeftMs(context, timing) + (context.graceMs ?? 0)));

/**
 * Waits before the next attempt: for the API's full Retry-After, or else for exponential backoff with full jitter.
 * Returns false immediately if the attempts are used up or the wait does not fit into the time left.
 */
export async function waitBeforeRetry(
  attempt: number,
  failure: Failure,
  context: CallContext,
  timing: Timing,
): Promise<boolean> {
  const { retryAfterSeconds, status } = failure.facts;
  // The API still processes the first request with this key, so attempts may continue for all the time left.
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

/** Returns the first success of `attempt`, which receives its number, from 1. Throws the first Failure that is not retried. */
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

// When the API asks for a pause (429 with Retry-After), all processes that share the credentials await this cooldown.

/** Maximum cooldown. One wrong header must not block many processes for days. */
const MAX_COOLDOWN_MS = 3_600_000;
/** Requests that wait for the same time are spread over this period after it. */
const SPREAD_MS = 250;
const TOO_MANY_REQUESTS = 429;

/** Waits until a request may be sent. Throws Failure, with nothing sent, if the call has too little time left. */
async function awaitCooldown(cooldown: Cooldown, context: CallContext, timing: Timing): Promise<void> {
  for (;;) {
    const leftMs = await cooldown.leftMs();
    if (leftMs <= 0) return;
    if (leftMs + ANSWER_MARGIN_MS > timeLeftMs(context, timing)) {
      const seconds = Math.ceil(leftMs / 1000);
      throw new Failure({
        kind: "rate_limited",
        message: "Not sent: the API asked all callers of this team to wait (HTTP 429).",
        retryable: true,
        sideEffect: "none",
        retryAfterSeconds: seconds,
        next: `Wait ${seconds} s, then repeat the call.`,
      });
    }
    await timing.sleep(leftMs + timing.random() * SPREAD_MS, context.signal);
  }
}

interface ResponseHead {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
}

/** Wraps `send`: awaits the cooldown first, and records a cooldown that the response asks for. */
export const withCooldown =
  <R, A extends ResponseHead>(
    cooldown: Cooldown,
    context: CallContext,
    timing: Timing,
    send: (request: R) => Promise<A>,
  ) =>
  async (request: R): Promise<A> => {
    await awaitCooldown(cooldown, context, timing);
    const response = await send(request);
    const { status, headers } = response;
    const seconds = status === TOO_MANY_REQUESTS ? parseRetryAfter(headers, timing.now()) : undefined;
    if (seconds !== undefined) await cooldown.record(Math.min(seconds * 1000, MAX_COOLDOWN_MS));
    return response;
  };
