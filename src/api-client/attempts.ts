// Decides when and for how long a call is retried (docs/contribute/architecture.md, "Request lifecycle"), and awaits cooldowns.
import { setTimeout as sleep } from "node:timers/promises";
import type { Endpoint } from "../contract/endpoints/endpoint.ts";
import { Failure, type FailureKind } from "../core/failure.ts";
import { CALL_LIMIT_SECONDS } from "../core/time-limits.ts";
import { isTransient, parseRetryAfter } from "./classify.ts";
import { TransportError, type WireResponse } from "./transport.ts";

// There are three time limits: for a tool call, for each attempt in it, and the least time that must be left to start an attempt.

export const CALL_LIMIT_MS = CALL_LIMIT_SECONDS * 1_000;
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
  /** Time by which the call must have ended, in milliseconds by `Timing.clockMs`. */
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
  /** No request is sent before this time, in milliseconds by `Timing.clockMs`. */
  heldUntilAt: number;
}

export interface Timing {
  /** Returns milliseconds since 1970, by the system clock. */
  now(): number;
  /** Returns milliseconds for deadlines and waits (see `createDeadlineClock`). */
  clockMs(): number;
  /** Returns a number of at least 0 and below 1. */
  random(): number;
  /** Rejects with the signal's reason when the signal is aborted. */
  sleep(ms: number, signal: AbortSignal): Promise<void>;
}

/** If the system clock and the monotonic clock differ by this much more than before, one of them was set or stopped. */
const CLOCK_STEP_MS = 1_000;

/**
 * Returns a clock that advances as the faster of two clocks, in milliseconds. So a call ends when either of them says so: a system clock that
 * is set back does not prolong it, and after a suspension, during which the monotonic clock may stop, it sends nothing.
 */
export function createDeadlineClock(systemMs: () => number, monotonicMs: () => number): () => number {
  let [startMs, systemStartMs, monotonicStartMs] = [systemMs(), systemMs(), monotonicMs()];
  return () => {
    const [nowSystemMs, nowMonotonicMs] = [systemMs(), monotonicMs()];
    const [systemAgeMs, monotonicAgeMs] = [nowSystemMs - systemStartMs, nowMonotonicMs - monotonicStartMs];
    const nowMs = startMs + Math.max(systemAgeMs, monotonicAgeMs);
    if (Math.abs(systemAgeMs - monotonicAgeMs) > CLOCK_STEP_MS)
      [startMs, systemStartMs, monotonicStartMs] = [nowMs, nowSystemMs, nowMonotonicMs];
    return nowMs;
  };
}

export const systemTiming: Timing = {
  now: () => Date.now(),
  clockMs: createDeadlineClock(
    () => Date.now(),
    () => performance.now(),
  ),
  random: () => Math.random(),
  sleep: async (ms, signal) => {
    await sleep(ms, undefined, { signal });
  },
};

export const timeLeftMs = (context: CallContext, timing: Timing): number => context.deadlineAt - timing.clockMs();

/** Returns the time limit of an attempt that starts now, in milliseconds. Throws TransportError if the call has no time left. */
export function attemptLimitMs(context: CallContext, timing: Timing): number {
  const leftMs = timeLeftMs(context, timing) + (context.graceMs ?? 0);
  if (leftMs <= 0) throw new TransportError("the call has no time left", { sent: false, timedOut: true });
  return Math.min(ATTEMPT_LIMIT_MS, leftMs);
}

/** Waits for the full Retry-After, else for exponential backoff with full jitter. Returns false at once if no attempt fits in the time. */
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
  const now = timing.clockMs();
  if (sharedRetryAfter && retryAfterSeconds !== undefined)
    sharedRetryAfter.heldUntilAt = Math.max(sharedRetryAfter.heldUntilAt, now + ownWaitMs);
  const waitMs = Math.max(ownWaitMs, (sharedRetryAfter?.heldUntilAt ?? now) - now);
  if (attempt >= (context.maxAttempts ?? MAX_ATTEMPTS) && !inProgress) return false;
  if (waitMs + MIN_ATTEMPT_MS > timeLeftMs(context, timing)) return false;
  await timing.sleep(waitMs, context.signal);
  // The machine may have been suspended meanwhile.
  return timeLeftMs(context, timing) >= MIN_ATTEMPT_MS;
}

/** Waits before the next attempt, and reports the failed one. Throws the error if it is not retried. */
export async function prepareRetry(
  endpoint: Endpoint,
  error: unknown,
  attempt: number,
  context: CallContext,
  timing: Timing,
): Promise<void> {
  if (!(error instanceof Failure) || !isTransient(endpoint, error)) throw error;
  if (!(await waitBeforeRetry(attempt, error, context, timing))) throw error;
  const { kind, status, requestId } = error.facts;
  context.onFailedAttempt?.({ operation: endpoint.id, attempt, kind, status, requestId });
}

interface RetryOptions {
  readonly endpoint: Endpoint;
  readonly context: CallContext;
  readonly timing: Timing;
}

/** Returns the first success of `attempt`. Throws the first error that is not retried. */
export async function withRetries<T>(
  { endpoint, context, timing }: RetryOptions,
  attempt: () => Promise<T>,
): Promise<T> {
  for (let attempts = 1; ; attempts++) {
    try {
      return await attempt();
    } catch (error) {
      await prepareRetry(endpoint, error, attempts, context, timing);
    }
  }
}

// When the API asks for a pause (429 with Retry-After), all processes that share the credentials await this cooldown.

/** A cooldown that several processes with the same credentials share. Its methods never reject. */
export interface Cooldown {
  /** Returns the milliseconds until a request may be sent; 0 or less means now. A promise only if the value must be read again. */
  leftMs(): number | Promise<number>;
  /** Records a pause, in milliseconds, that the API asked for. Resolves when the other processes can read it. */
  record(ms: number): Promise<void>;
}

/** Maximum cooldown. One wrong header must not block many processes for days. */
const MAX_COOLDOWN_MS = 3_600_000;
/** Requests that wait for the same time are spread over this period after it. */
const SPREAD_MS = 250;
const TOO_MANY_REQUESTS = 429;

/** Waits until a request may be sent. Throws Failure, with nothing sent, if the call has too little time left. */
async function waitForEnd(
  cooldown: Cooldown,
  firstMs: number | Promise<number>,
  context: CallContext,
  timing: Timing,
): Promise<void> {
  for (let leftMs = await firstMs; leftMs > 0; leftMs = await cooldown.leftMs()) {
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

/** Like `waitForEnd`, but returns undefined if a request may be sent immediately, so that most calls wait for nothing. */
export function awaitCooldown(cooldown: Cooldown, context: CallContext, timing: Timing): Promise<void> | undefined {
  const leftMs = cooldown.leftMs();
  if (typeof leftMs === "number" && leftMs <= 0) return undefined;
  return waitForEnd(cooldown, leftMs, context, timing);
}

/** Records the cooldown that a response asks for. Returns undefined if it asks for none. */
export function recordCooldown(
  cooldown: Cooldown,
  { status, headers }: Pick<WireResponse, "status" | "headers">,
  timing: Timing,
): Promise<void> | undefined {
  const seconds = status === TOO_MANY_REQUESTS ? parseRetryAfter(headers, timing.now()) : undefined;
  return seconds === undefined ? undefined : cooldown.record(Math.min(seconds * 1000, MAX_COOLDOWN_MS));
}
