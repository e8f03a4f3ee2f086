// The requests that count towards the limit now, and the pause that the service asked for: of this process, or of all that
// share its address (shared-ledger.ts).
import type { Timing } from "../api-client/attempts.ts";

export const WINDOW_MS = 60_000;
/** Others behind our address share the limit: after a 429 there is less of it for us. */
export const SLOWED_MS = 600_000;

/** Requests within any window: so many are read ahead, and so many leave at all. What is between is kept for direct calls. */
export interface RequestLimits {
  readonly ahead: number;
  readonly direct: number;
}

/** At one moment. Instants are by our own clock, in milliseconds since 1970. */
export interface LedgerState {
  /** When each request that counts ceases to, earliest first; of one under way the earliest that it can be. */
  readonly freeAt: readonly number[];
  readonly frozenUntilAt: number;
  readonly slowedUntilAt: number;
}

/** A request that counts. */
export interface Entry {
  readonly id: string;
}

/** Every method but `state` settles when it is written down, and never rejects. */
export interface Ledger {
  /** Others write into it, too: what it says may have changed since. */
  readonly isShared: boolean;
  state(): LedgerState;
  /** Enters a request, if it may leave now. */
  take(isUrgent: boolean): Promise<Entry | undefined>;
  /** It is over: from now on it counts for a window. */
  end(entry: Entry): Promise<void>;
  /** It was never sent. */
  giveBack(entry: Entry): Promise<void>;
  /** Whether this request may read the list: no other is at it. */
  takeTurn(entry: Entry, list: string): Promise<boolean>;
  /** Others find the list now, or may read it themselves. */
  endTurn(entry: Entry): Promise<void>;
  /** The service answered 429: nothing leaves for so long, and then half as much. */
  pause(ms: number): Promise<void>;
  close(): Promise<void>;
}

/** How many requests may count when one leaves. */
export function maxOf({ ahead, direct }: RequestLimits, isUrgent: boolean, isSlowed: boolean): number {
  const max = isSlowed ? Math.max(1, Math.floor(ahead / 2)) : ahead;
  return isUrgent ? max + direct - ahead : max;
}

/** Whether a request may leave. */
export function mayLeave(state: LedgerState, limits: RequestLimits, isUrgent: boolean, now: number): boolean {
  const max = maxOf(limits, isUrgent, state.slowedUntilAt > now);
  return state.frozenUntilAt <= now && state.freeAt.length < max;
}

/** Of this process alone. */
export class OwnLedger implements Ledger {
  readonly isShared = false;
  readonly #limits: RequestLimits;
  readonly #now: Timing["now"];
  readonly #windowMs: number;
  // Counted from their ends: the service may have counted a request as late as that.
  #endedAt: number[] = [];
  readonly #running = new Set<Entry>();
  #frozenUntilAt = Number.NEGATIVE_INFINITY;
  #slowedUntilAt = Number.NEGATIVE_INFINITY;
  #count = 0;

  constructor(limits: RequestLimits, { now }: Pick<Timing, "now">, windowMs = WINDOW_MS) {
    this.#limits = limits;
    this.#now = now;
    this.#windowMs = windowMs;
  }

  state(): LedgerState {
    const now = this.#now();
    this.#endedAt = this.#endedAt.filter((endedAt) => endedAt > now - this.#windowMs);
    const countsFrom = [...this.#endedAt, ...Array.from(this.#running, () => now)];
    return {
      freeAt: countsFrom.map((at) => at + this.#windowMs),
      frozenUntilAt: this.#frozenUntilAt,
      slowedUntilAt: this.#slowedUntilAt,
    };
  }

  async take(isUrgent: boolean): Promise<Entry | undefined> {
    return mayLeave(this.state(), this.#limits, isUrgent, this.#now()) ? this.enter() : undefined;
  }

  /** Enters a request that leaves, whatever the limit says. */
  enter(): Entry {
    const entry = { id: String(++this.#count) };
    this.#running.add(entry);
    return entry;
  }

  async end(entry: Entry): Promise<void> {
    if (this.#running.delete(entry)) this.#endedAt.push(this.#now());
  }

  async giveBack(entry: Entry): Promise<void> {
    this.#running.delete(entry);
  }

  /** Within a process, requests for the same list are one (shared-requests.ts). */
  async takeTurn(): Promise<boolean> {
    return true;
  }

  async endTurn(): Promise<void> {}

  async pause(ms: number): Promise<void> {
    this.#frozenUntilAt = Math.max(this.#frozenUntilAt, this.#now() + ms);
    this.#slowedUntilAt = Math.max(this.#slowedUntilAt, this.#frozenUntilAt + SLOWED_MS);
  }

  async close(): Promise<void> {}
}
