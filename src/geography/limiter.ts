// Enforces the rate limit of this process (docs/contract.md, 8: 30 requests a minute for each client address). It applies a
// sliding window of one minute, and any cooldown that the API requested from this or another process.
import pLimit from "p-limit";
import type { Timing } from "../api-client/attempts.ts";
import { waitToSend } from "../api-client/pause.ts";
import { Failure } from "../core/failure.ts";
import { say, type Text } from "../core/text.ts";
import type { Catalog } from "./catalog.ts";

export const CONCURRENCY = 4;
export const WINDOW_MS = 60_000;
/** Other clients behind the same address share the limit, so this process halves its rate for this long after a cooldown. */
export const REDUCED_RATE_MS = 600_000;
/** Requests in a minute that the API allows for each client address. */
const API_LIMIT = 30;
/** Requests in a minute that the prefetch leaves for direct calls. */
const RESERVED_FOR_DIRECT = 2;
/** Cooldown after a 429 without Retry-After. */
const DEFAULT_RETRY_AFTER_SECONDS = 60;
/** Interval at which a waiting request checks again whether it may be sent. */
const POLL_INTERVAL_MS = 1_000;

export type Limiter = ReturnType<typeof createLimiter>;

/** `perMinute`: maximum number of prefetch requests within any minute. */
export function createLimiter(
  perMinute: number,
  timing: Timing,
  catalog: Pick<Catalog, "cooldownUntilAt" | "storeCooldown" | "load">,
) {
  const maxDirect = Math.max(perMinute, Math.min(perMinute + RESERVED_FOR_DIRECT, API_LIMIT));
  const maxPrefetch = Math.min(perMinute, maxDirect - RESERVED_FOR_DIRECT);
  const limitConcurrency = pLimit(CONCURRENCY);
  // A request counts from its end, because the API may have counted it as late as that.
  let endedAt: number[] = [];
  let running = 0;
  /** Direct requests that wait, in order of arrival. */
  let waiting: object[] = [];

  const { cooldownUntilAt } = catalog;
  const isCoolingDown = (): boolean => cooldownUntilAt() > timing.now();

  function maxRequests(isDirect: boolean): number {
    const isRateReduced = cooldownUntilAt() + REDUCED_RATE_MS > timing.now();
    const max = isRateReduced ? Math.max(1, Math.floor(maxPrefetch / 2)) : maxPrefetch;
    return isDirect ? max + maxDirect - maxPrefetch : max;
  }

  /** Instants at which the counted requests leave the window, earliest first; for a running request, the earliest possible instant. */
  function slotExpiryTimes(): readonly number[] {
    const now = timing.now();
    endedAt = endedAt.filter((at) => at > now - WINDOW_MS && at <= now).sort((a, b) => a - b);
    const runningAt = Array.from({ length: running }, () => now);
    return [...endedAt, ...runningAt].map((at) => at + WINDOW_MS);
  }

  /** Milliseconds that a request must wait if `ahead` other requests precede it (default: all waiting direct requests). */
  function delayMs(ahead = waiting.length, isDirect = false): number {
    const now = timing.now();
    const expiryTimes = slotExpiryTimes();
    const max = maxRequests(isDirect);
    const sendTimeAt = (index: number): number =>
      index < 0 ? now : (expiryTimes[index] ?? sendTimeAt(index - max) + WINDOW_MS);
    return Math.max(sendTimeAt(ahead - (max - expiryTimes.length)), cooldownUntilAt()) - now;
  }

  /** Counts a request that ended at this instant, or that another process sent at this instant. */
  function record(at: number): void {
    endedAt.push(at);
  }

  const reasonToWait = (): Text =>
    isCoolingDown()
      ? say`Not sent: the API asked for a pause (HTTP 429).`
      : say`Not sent: at most ${maxRequests(true)} geography requests leave here in a minute.`;

  /** Sends nothing for `ms`, and then halves the rate for REDUCED_RATE_MS. Resolves when other processes can read the cooldown. */
  async function startCooldown(ms: number): Promise<void> {
    const askedAt = timing.now();
    const untilAt = askedAt + Math.ceil(ms);
    if (untilAt > cooldownUntilAt()) await catalog.storeCooldown(askedAt, untilAt);
  }

  async function waitForSlot(signal: AbortSignal, untilAt: number, isDirect: boolean): Promise<void> {
    const queueEntry = {};
    if (isDirect) waiting.push(queueEntry);
    try {
      await waitToSend({
        leftMs() {
          signal.throwIfAborted();
          return delayMs(isDirect ? waiting.indexOf(queueEntry) : waiting.length, isDirect);
        },
        maxMs: () => untilAt - timing.clockMs(),
        reason: reasonToWait,
        async sleep(ms) {
          await timing.sleep(Math.min(ms, POLL_INTERVAL_MS), signal);
          await catalog.load();
        },
      });
    } finally {
      waiting = waiting.filter((each) => each !== queueEntry);
    }
  }

  return {
    delayMs,
    isCoolingDown,
    record,
    isSending: (): boolean => running > 0,
    availableRequests: (): number => (isCoolingDown() ? 0 : Math.max(0, maxRequests(true) - slotExpiryTimes().length)),
    /** `isDirect`: a call waits for the response. Throws Failure `rate_limited` if the wait would exceed `untilAt`. */
    async run<T>(send: () => Promise<T>, signal: AbortSignal, untilAt: number, isDirect: boolean): Promise<T> {
      await waitForSlot(signal, untilAt, isDirect);
      running += 1;
      try {
        return await limitConcurrency(send);
      } catch (error) {
        if (error instanceof Failure && error.facts.status === 429)
          await startCooldown((error.facts.retryAfterSeconds ?? DEFAULT_RETRY_AFTER_SECONDS) * 1000);
        throw error;
      } finally {
        running -= 1;
        record(timing.now());
      }
    },
  };
}
