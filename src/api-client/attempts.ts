// Decides when and for how long a call is retried (docs/contribute/architecture.md, "Request lifecycle").
import { setTimeout as sleep } from "node:timers/promises";
import type { Endpoint } from "../contract/endpoints/endpoint.ts";
import { Failure, type FailureKind } from "../core/failure.ts";
import { CALL_LIMIT_SECONDS } from "../core/time-limits.ts";
import { isTransient } from "./classify.ts";
import { TransportError } from "./transport.ts";

// There are three time limits: for a tool call, for each attempt in it, and the least time that must be left to start an attempt.

export const CALL_LIMIT_MS = CALL_LIMIT_SECONDS * 1_000;
/** Time limit of one attempt. A lost response must leave time for a second attempt. */
export const ATTEMPT_LIMIT_MS = 20_000;
/** No attempt starts with less time left than this. */
export const MIN_ATTEMPT_MS = 250;
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
  readonly onFailedAttempt?: (attempt: FailedAttempt) => void;
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

export const timeLeftMs = (context: CallContext, timing: Pick<Timing, "clockMs">): number =>
  context.deadlineAt - timing.clockMs();

/** Returns the time limit of an attempt that starts now, in milliseconds. Throws TransportError if the call has no time left. */
export function attemptLimitMs(context: CallContext, timing: Timing): number {
  const leftMs = timeLeftMs(context, timing) + (context.graceMs ?? 0);
  if (leftMs <= 0) throw new TransportError("the call has no time left", { sent: false, timedOut: true });
  return Math.min(ATTEMPT_LIMIT_MS, leftMs);
}

/**
 * Waits for the full Retry-After, else for exponential backoff with full jitter, and for the wait that the API asked other requests for
 * (`requestedMs`). Returns false at once if no attempt fits in the time.
 */
export async function waitBeforeRetry(
  attempt: number,
  failure: Failure,
  context: CallContext,
  timing: Timing,
  requestedMs = 0,
): Promise<boolean> {
  const { retryAfterSeconds, status } = failure.facts;
  // The API still processes the first request with this key, so attempts may continue for all the time left.
  const inProgress = status === 409;
  const backoffMs = timing.random() * Math.min(BACKOFF_CAP_MS, BACKOFF_BASE_MS * 2 ** attempt);
  const ownWaitMs =
    retryAfterSeconds === undefined ? Math.max(backoffMs, inProgress ? BACKOFF_BASE_MS : 0) : retryAfterSeconds * 1000;
  const waitMs = Math.max(ownWaitMs, requestedMs);
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
  requestedMs?: number,
): Promise<void> {
  if (!(error instanceof Failure) || !isTransient(endpoint, error)) throw error;
  if (!(await waitBeforeRetry(attempt, error, context, timing, requestedMs))) throw error;
  const { kind, status, requestId } = error.facts;
  context.onFailedAttempt?.({ operation: endpoint.id, attempt, kind, status, requestId });
}

/** Returns the first success of `attempt`. Throws the first error that is not retried. */
export async function withRetries<T>(
  {
    endpoint,
    context,
    timing,
  }: { readonly endpoint: Endpoint; readonly context: CallContext; readonly timing: Timing },
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
