// Enforces the rate limit of this process (docs/contract.md, 8: 30 requests a minute for each client address). It applies a
// sliding window of one minute, and any cooldown that the API requested from this or another process.
import pLimit from "p-limit";
import * as z from "zod/v4";
import type { Timing } from "../api-client/attempts.ts";
import { Failure } from "../core/failure.ts";
import type { GeographyStore } from "./store.ts";

/** Maximum number of requests in flight. */
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

const Cooldown = z.strictObject({ askedAt: z.int(), untilAt: z.int() });

export class Limiter {
  /** Maximum number of prefetch requests, and of all requests, within any minute. */
  readonly #limits: { readonly prefetch: number; readonly direct: number };
  readonly #timing: Timing;
  readonly #store: GeographyStore;
  readonly #limitConcurrency = pLimit(CONCURRENCY);
  // A request counts from its end, because the API may have counted it as late as that.
  #endedAt: number[] = [];
  #running = 0;
  /** Direct requests that wait, in order of arrival. */
  #waiting: object[] = [];
  #cooldown = { askedAt: Number.NEGATIVE_INFINITY, untilAt: Number.NEGATIVE_INFINITY };

  constructor(perMinute: number, timing: Timing, store: GeographyStore) {
    const direct = Math.max(perMinute, Math.min(perMinute + RESERVED_FOR_DIRECT, API_LIMIT));
    this.#limits = { prefetch: Math.min(perMinute, direct - RESERVED_FOR_DIRECT), direct };
    this.#timing = timing;
    this.#store = store;
  }

  get isCoolingDown(): boolean {
    return this.#cooldownUntilAt() > this.#timing.now();
  }

  get isSending(): boolean {
    return this.#running > 0;
  }

  /** Number of direct requests that may be sent now. */
  availableRequests(): number {
    return this.isCoolingDown ? 0 : Math.max(0, this.#maxRequests(true) - this.#slotExpiryTimes().length);
  }

  /** Milliseconds that a request must wait if `ahead` other requests precede it (default: all waiting direct requests). */
  delayMs(ahead = this.#waiting.length, isDirect = false): number {
    const now = this.#timing.now();
    const expiryTimes = this.#slotExpiryTimes();
    const max = this.#maxRequests(isDirect);
    const sendTimeAt = (index: number): number =>
      index < 0 ? now : (expiryTimes[index] ?? sendTimeAt(index - max) + WINDOW_MS);
    return Math.max(sendTimeAt(ahead - (max - expiryTimes.length)), this.#cooldownUntilAt()) - now;
  }

  /**
   * Runs `send` as soon as a request may be sent. `isDirect`: a call waits for the response; otherwise the request belongs to the
   * prefetch. Throws Failure `rate_limited` if the request would have to wait beyond `untilAt`. Also throws the signal's reason
   * and the errors of `send`.
   */
  async run<T>(send: () => Promise<T>, signal: AbortSignal, untilAt: number, isDirect: boolean): Promise<T> {
    await this.#waitForSlot(signal, untilAt, isDirect);
    this.#running += 1;
    try {
      return await this.#limitConcurrency(send);
    } catch (error) {
      if (error instanceof Failure && error.facts.status === 429)
        await this.#startCooldown((error.facts.retryAfterSeconds ?? DEFAULT_RETRY_AFTER_SECONDS) * 1000);
      throw error;
    } finally {
      this.#running -= 1;
      this.record(this.#timing.now());
    }
  }

  /** Counts a request that ended at this instant, or that another process sent at this instant. */
  record(at: number): void {
    this.#endedAt.push(at);
  }

  async #waitForSlot(signal: AbortSignal, untilAt: number, isDirect: boolean): Promise<void> {
    const queueEntry = {};
    if (isDirect) this.#waiting.push(queueEntry);
    try {
      for (;;) {
        await this.#loadCooldown();
        signal.throwIfAborted();
        const ahead = isDirect ? this.#waiting.indexOf(queueEntry) : this.#waiting.length;
        const delayMs = this.delayMs(ahead, isDirect);
        if (delayMs <= 0) return;
        if (this.#timing.now() + delayMs > untilAt) throw this.#rateLimitFailure();
        await this.#timing.sleep(Math.min(delayMs, POLL_INTERVAL_MS), signal);
      }
    } finally {
      this.#waiting = this.#waiting.filter((each) => each !== queueEntry);
    }
  }

  /**
   * Starts a cooldown after a 429: nothing is sent for `ms`, then half as much as usual. Resolves when other processes can read
   * it.
   */
  async #startCooldown(ms: number): Promise<void> {
    const askedAt = this.#timing.now();
    const untilAt = askedAt + Math.ceil(ms);
    if (untilAt <= this.#cooldownUntilAt()) return;
    this.#cooldown = { askedAt, untilAt };
    await this.#store.write(this.#cooldownName, this.#cooldown);
  }

  /** Loads a cooldown that another process recorded. */
  async #loadCooldown(): Promise<void> {
    const storedCooldown = (await this.#store.read([this.#cooldownName], Cooldown)).get(this.#cooldownName);
    if (storedCooldown !== undefined && storedCooldown.untilAt > this.#cooldownUntilAt())
      this.#cooldown = storedCooldown;
  }

  get #cooldownName(): string {
    return `cooldown ${this.#store.budget}`;
  }

  /** A cooldown that began in the future is void, because the clock has been set back. */
  #cooldownUntilAt(): number {
    const { askedAt, untilAt } = this.#cooldown;
    return askedAt > this.#timing.now() ? Number.NEGATIVE_INFINITY : untilAt;
  }

  #maxRequests(isDirect: boolean): number {
    const { prefetch, direct } = this.#limits;
    const isRateReduced = this.#cooldownUntilAt() + REDUCED_RATE_MS > this.#timing.now();
    const max = isRateReduced ? Math.max(1, Math.floor(prefetch / 2)) : prefetch;
    return isDirect ? max + direct - prefetch : max;
  }

  /**
   * Instants at which the counted requests leave the window, earliest first. For a running request, this is the earliest possible
   * instant.
   */
  #slotExpiryTimes(): readonly number[] {
    const now = this.#timing.now();
    this.#endedAt = this.#endedAt.filter((at) => at > now - WINDOW_MS && at <= now).sort((a, b) => a - b);
    const running = Array.from({ length: this.#running }, () => now);
    return [...this.#endedAt, ...running].map((at) => at + WINDOW_MS);
  }

  /** Creates the failure of a call that would have to wait beyond its deadline. */
  #rateLimitFailure(): Failure {
    const retryAfterSeconds = Math.max(1, Math.ceil(this.delayMs(0, true) / 1000));
    const why = this.isCoolingDown
      ? "the API asked for a pause (HTTP 429)"
      : `at most ${this.#maxRequests(true)} geography requests leave here in a minute`;
    return new Failure({
      kind: "rate_limited",
      message: `Not sent: ${why}.`,
      retryable: true,
      sideEffect: "none",
      retryAfterSeconds,
      next: `Wait ${retryAfterSeconds} s, then repeat the call.`,
    });
  }
}
