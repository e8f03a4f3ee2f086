// The line in which all playground requests of this process wait to leave (docs/contract.md, 8: 30 a minute for each client
// address); the ledger says when the next one may.

import type { Timing } from "../api-client/attempts.ts";
import { Failure } from "../failure.ts";
import { type Entry, type Ledger, maxOf, type RequestLimits, WINDOW_MS } from "./ledger.ts";

export const LANES = 4;
// node's timers know no longer one than 25 days: a Retry-After does.
const LONGEST_SLEEP_MS = 3_600_000;
/** What others give back is seen after so long. */
const LOOK_AGAIN_MS = 2_000;
/** Processes that wait for the same instant wake within so long after it. */
const SPREAD_MS = 250;

/** The right to send one request. */
export interface Permit {
  /** The request is over. */
  end(): void;
  /** It was never sent. */
  giveBack(): void;
  /** Whether it may read this list: no other process is at it. */
  takeTurn(list: string): Promise<boolean>;
  /** Other processes find the list now, or may read it themselves. */
  endTurn(): Promise<void>;
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

export interface LimiterOptions {
  readonly limits: RequestLimits;
  readonly ledger: Ledger;
  readonly timing: Timing;
  readonly closing: AbortSignal;
  /** How long a request counts, in milliseconds. */
  readonly windowMs?: number;
}

export class Limiter {
  readonly #limits: RequestLimits;
  readonly #ledger: Ledger;
  readonly #timing: Timing;
  readonly #closing: AbortSignal;
  readonly #windowMs: number;
  #running = 0;
  #waiting: WaitingRequest[] = [];
  #alarm: AbortController | undefined;
  #isPumping = false;
  #isAskedAgain = false;
  #listeners = new Set<() => void>();

  constructor({ limits, ledger, timing, closing, windowMs = WINDOW_MS }: LimiterOptions) {
    this.#limits = limits;
    this.#ledger = ledger;
    this.#timing = timing;
    this.#closing = closing;
    this.#windowMs = windowMs;
    closing.addEventListener("abort", () => this.#alarm?.abort(), { once: true });
  }

  get isFrozen(): boolean {
    return this.#ledger.state().frozenUntilAt > this.#timing.now();
  }

  /** Queued requests of the background: no call waits for them. */
  get backgroundCount(): number {
    return this.#waiting.filter(({ isUrgent }) => !isUrgent).length;
  }

  /** Runs `listener` whenever somebody in the line turns out to have to wait. */
  onHeldUp(listener: () => void): void {
    this.#listeners.add(listener);
  }

  #max(isUrgent: boolean): number {
    return maxOf(this.#limits, isUrgent, this.#ledger.state().slowedUntilAt > this.#timing.now());
  }

  /** How many requests may leave now, direct calls included. */
  permits(): number {
    const now = this.#timing.now();
    const { freeAt, frozenUntilAt } = this.#ledger.state();
    return frozenUntilAt > now ? 0 : Math.max(0, this.#max(true) - freeAt.filter((at) => at > now).length);
  }

  /** How long a request will wait that has `ahead` others before it; lanes left out of account. */
  delayMs(ahead = 0, isUrgent = false): number {
    const now = this.#timing.now();
    const { freeAt, frozenUntilAt } = this.#ledger.state();
    const counting = freeAt.filter((at) => at > now);
    const max = this.#max(isUrgent);
    const leavesAt = (index: number): number =>
      index < 0 ? now : (counting[index] ?? leavesAt(index - max) + this.#windowMs);
    return Math.max(leavesAt(ahead - (max - counting.length)), frozenUntilAt) - now;
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
    this.#ledger.pause(retryAfterSeconds * 1000).then(() => this.#pump());
  }

  /** One at a time: who asks meanwhile is seen to afterwards. */
  #pump(): void {
    this.#isAskedAgain = true;
    if (this.#isPumping) return;
    this.#isPumping = true;
    this.#serve().finally(() => {
      this.#isPumping = false;
      if (this.#isAskedAgain) this.#pump();
      else this.#setAlarm();
    });
  }

  async #serve(): Promise<void> {
    while (this.#isAskedAgain) {
      this.#isAskedAgain = false;
      while (await this.#serveNext());
    }
  }

  /** False where nobody is left who may leave now. */
  async #serveNext(): Promise<boolean> {
    this.#refuseHopeless();
    const [next] = this.#waiting;
    if (next === undefined || this.#running >= LANES || this.delayMs(0, next.isUrgent) > 0) return false;
    this.#running += 1;
    const entry = await this.#ledger.take(next.isUrgent);
    if (entry === undefined) {
      this.#running -= 1;
      this.#refuseHopeless();
      return false;
    }
    const [first] = this.#waiting;
    const permit = this.#permit(entry);
    // Whoever was next may have gone, and what is kept for direct calls is not for the others.
    if (first === undefined || (next.isUrgent && !first.isUrgent)) permit.giveBack();
    else this.#waiting.shift()?.grant(permit);
    return true;
  }

  #setAlarm(): void {
    this.#alarm?.abort();
    const [next] = this.#waiting;
    // With all lanes busy the end of a request is what comes next.
    if (next === undefined || this.#running >= LANES || this.#closing.aborted) return;
    for (const listener of this.#listeners) listener();
    const { isShared } = this.#ledger;
    const delayMs = Math.min(this.delayMs(0, next.isUrgent), isShared ? LOOK_AGAIN_MS : LONGEST_SLEEP_MS);
    const spreadMs = isShared || this.isFrozen ? this.#timing.random() * SPREAD_MS : 0;
    this.#alarm = new AbortController();
    this.#timing.sleep(delayMs + spreadMs, this.#alarm.signal).then(
      () => this.#pump(),
      () => undefined,
    );
  }

  #refuseHopeless(): void {
    const now = this.#timing.now();
    const hopeless = this.#waiting.filter(
      ({ untilAt, isUrgent }, index) => now + this.delayMs(index, isUrgent) > untilAt,
    );
    this.#waiting = this.#waiting.filter((each) => !hopeless.includes(each));
    for (const { refuse } of hopeless) refuse(this.#refusal());
  }

  #permit(entry: Entry): Permit {
    let isOver = false;
    const over = (write: (entry: Entry) => Promise<void>) => (): void => {
      if (isOver) return;
      isOver = true;
      this.#running -= 1;
      write(entry).then(() => this.#pump());
    };
    return {
      end: over((each) => this.#ledger.end(each)),
      giveBack: over((each) => this.#ledger.giveBack(each)),
      takeTurn: (list) => this.#ledger.takeTurn(entry, list),
      endTurn: () => this.#ledger.endTurn(entry),
    };
  }

  /** The failure of a call that cannot wait as long as it would have to. */
  #refusal(): Failure {
    const retryAfterSeconds = Math.max(1, Math.ceil(this.delayMs(0, true) / 1000));
    const why = this.isFrozen
      ? "the service asked for a pause (HTTP 429)"
      : `at most ${this.#max(true)} geography requests leave here in a minute`;
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
