// The one limiter of all playground requests of this process (docs/contract.md, 8: 30 a minute for each client address).
import { Failure } from "../failure.ts";
import type { Timing } from "../service/attempts.ts";

export const LANES = 4;
export const WINDOW_MS = 60_000;
/** Others behind our address share the limit: after a 429 there is less of it for us. */
export const SLOWED_MS = 600_000;
// node's timers know no longer one than 25 days: a Retry-After does.
const LONGEST_SLEEP_MS = 3_600_000;

/** The right to send one request. */
export interface Permit {
  /** The request is over. */
  end(): void;
  /** It was never sent. */
  giveBack(): void;
}

export interface PermitRequest {
  readonly signal: AbortSignal;
  /** A person waits for it: it goes before what is read ahead. */
  readonly isUrgent: boolean;
  /** When the wait would last beyond this, it is refused at once. */
  readonly untilAt: number;
}

interface WaitingRequest extends PermitRequest {
  readonly grant: (permit: Permit) => void;
  readonly refuse: (reason: unknown) => void;
}

export class Limiter {
  readonly perMinute: number;
  readonly #timing: Timing;
  readonly #closing: AbortSignal;
  // Counted from their ends: the service may have counted a request as late as that.
  #endedAt: number[] = [];
  #running = 0;
  #frozenUntilAt = Number.NEGATIVE_INFINITY;
  #slowedUntilAt = Number.NEGATIVE_INFINITY;
  #waiting: WaitingRequest[] = [];
  #alarm: AbortController | undefined;

  constructor(perMinute: number, timing: Timing, closing: AbortSignal) {
    this.perMinute = perMinute;
    this.#timing = timing;
    this.#closing = closing;
    closing.addEventListener("abort", () => this.#alarm?.abort(), { once: true });
  }

  get isFrozen(): boolean {
    return this.#frozenUntilAt > this.#timing.now();
  }

  /** Queued requests of the background: no call waits for them. */
  get backgroundCount(): number {
    return this.#waiting.filter(({ isUrgent }) => !isUrgent).length;
  }

  get #max(): number {
    return this.#slowedUntilAt > this.#timing.now() ? Math.max(1, Math.floor(this.perMinute / 2)) : this.perMinute;
  }

  /** How long a request will wait that has `ahead` others before it; lanes left out of account. */
  delayMs(ahead = 0): number {
    const now = this.#timing.now();
    this.#endedAt = this.#endedAt.filter((endedAt) => endedAt > now - WINDOW_MS);
    const freeAt = [...this.#endedAt, ...Array.from({ length: this.#running }, () => now)].map((at) => at + WINDOW_MS);
    const max = this.#max;
    const leavesAt = (index: number): number =>
      index < 0 ? now : (freeAt[index] ?? leavesAt(index - max) + WINDOW_MS);
    return Math.max(leavesAt(ahead - (max - freeAt.length)), this.#frozenUntilAt) - now;
  }

  /** Resolves when a request may leave. Throws Failure `rate_limited`, or the signal's reason. */
  acquire(request: PermitRequest): Promise<Permit> {
    return new Promise((resolve, reject) => {
      const { signal } = request;
      if (signal.aborted) return reject(signal.reason);
      const onAbort = (): void => {
        this.#waiting = this.#waiting.filter((each) => each !== waiting);
        reject(signal.reason);
      };
      const settled = <T>(settle: (value: T) => void) => {
        return (value: T): void => {
          signal.removeEventListener("abort", onAbort);
          settle(value);
        };
      };
      const waiting: WaitingRequest = { ...request, grant: settled(resolve), refuse: settled(reject) };
      signal.addEventListener("abort", onAbort, { once: true });
      const firstIdle = this.#waiting.findIndex(({ isUrgent }) => !isUrgent);
      this.#waiting.splice(request.isUrgent && firstIdle >= 0 ? firstIdle : this.#waiting.length, 0, waiting);
      this.#pump();
    });
  }

  /** The service answered 429: nothing leaves before its Retry-After is over, and then half as much. */
  pauseFor(retryAfterSeconds: number): void {
    const now = this.#timing.now();
    this.#frozenUntilAt = Math.max(this.#frozenUntilAt, now + retryAfterSeconds * 1000);
    this.#slowedUntilAt = Math.max(this.#slowedUntilAt, this.#frozenUntilAt + SLOWED_MS);
    this.#pump();
  }

  #pump(): void {
    this.#refuseHopeless();
    while (this.#running < LANES && this.#waiting.length > 0 && this.delayMs() <= 0) {
      this.#running += 1;
      this.#waiting.shift()?.grant(this.#permit());
    }
    this.#alarm?.abort();
    // With all lanes busy the end of a request is what comes next.
    if (this.#waiting.length === 0 || this.#running >= LANES || this.#closing.aborted) return;
    this.#alarm = new AbortController();
    this.#timing.sleep(Math.min(this.delayMs(), LONGEST_SLEEP_MS), this.#alarm.signal).then(
      () => this.#pump(),
      () => undefined,
    );
  }

  #refuseHopeless(): void {
    const now = this.#timing.now();
    const hopeless = this.#waiting.filter(({ untilAt }, index) => now + this.delayMs(index) > untilAt);
    this.#waiting = this.#waiting.filter((each) => !hopeless.includes(each));
    for (const { refuse } of hopeless) refuse(this.refusal());
  }

  #permit(): Permit {
    let isOver = false;
    const over = (wasSent: boolean) => (): void => {
      if (isOver) return;
      isOver = true;
      this.#running -= 1;
      if (wasSent) this.#endedAt.push(this.#timing.now());
      this.#pump();
    };
    return { end: over(true), giveBack: over(false) };
  }

  /** The failure of a call that cannot wait as long as it would have to. */
  refusal(): Failure {
    const retryAfterSeconds = Math.max(1, Math.ceil(this.delayMs() / 1000));
    const why = this.isFrozen
      ? "the service asked for a pause (HTTP 429)"
      : `this server sends at most ${this.#max} geography requests a minute`;
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
