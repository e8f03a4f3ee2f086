// Reads many states' districts in the background of the calls that wait for them: largest state first, each once (twice after a
// transient failure), stopped by a denial. One process at a time does so for all that share a store; the others wait for its lists.
import { PLAYGROUND_STATUS, type State } from "../contract/playground.ts";
import { excerpt } from "../excerpt.ts";
import { Failure, reasonOf } from "../failure.ts";
import { escaped, word } from "../outside.ts";
import type { Timing } from "../service/attempts.ts";
import type { CatalogueCache } from "./cache.ts";
import { CONCURRENCY, type Limiter } from "./limiter.ts";
import type { PlaygroundReader } from "./playground.ts";
import type { GeographyStore } from "./store.ts";

const RETRY_AFTER_MS = 1000;
/** A list is asked for twice if the first attempt fails; after the third 429, each obeyed, the prefetch stops until the next call. */
const MAX_ATTEMPTS = 2;
const MAX_REFUSALS = 3;
/** How often the lease is renewed, and how often the lists of the process that holds it are looked for. */
const RENEW_MS = 1_000;
const PEER_LOOK_MS = 250;
const MAX_REASON = 200;

/** Why a state's districts are not known. */
export interface Unread {
  /** The state's code. */
  readonly state: string;
  readonly reason: string;
  readonly retryAfterSeconds?: number;
}

interface PendingState {
  readonly state: State;
  readonly attempts: number;
}

const USUAL = new Map(
  Object.entries(PLAYGROUND_STATUS).map(([status, value]): [number, string] => [Number(status), value]),
);

function reasonFor(error: unknown): string {
  if (!(error instanceof Failure)) return excerpt(escaped(reasonOf(error)), MAX_REASON);
  const { status, code, message } = error.facts;
  if (status === undefined) return excerpt(message, MAX_REASON);
  // The contract has one value for each of its statuses: it says no more than the number.
  const isUsual = code === undefined || USUAL.get(status) === code;
  return `HTTP ${status}${isUsual ? "" : ` ${word(code, MAX_REASON)}`}`;
}

export interface PrefetchOptions {
  readonly playground: PlaygroundReader;
  readonly limiter: Limiter;
  readonly cache: CatalogueCache;
  readonly store: GeographyStore;
  readonly timing: Timing;
  /** Ends everything that is in flight. */
  readonly closing: AbortSignal;
}

export class Prefetch {
  readonly #options: PrefetchOptions;
  #queue: PendingState[] = [];
  readonly #inFlight = new Set<string>();
  readonly #failed = new Map<string, Unread>();
  #isRunning = false;
  #change = new AbortController();
  /** Counts the lists that were read or given up. */
  changes = 0;

  constructor(options: PrefetchOptions) {
    this.#options = options;
    options.closing.addEventListener("abort", () => this.#changed(), { once: true });
  }

  /** Queues states whose lists are missing. What failed before is tried again. */
  want(states: readonly State[]): void {
    const wanted = states.filter(({ code }) => !this.isPending(code));
    for (const { code } of wanted) this.#failed.delete(code);
    this.#queue.push(...wanted.map((state) => ({ state, attempts: 0 })));
    this.#queue.sort((a, b) => b.state.mandalCount - a.state.mandalCount || (a.state.code < b.state.code ? -1 : 1));
    if (this.#isRunning) return;
    this.#isRunning = true;
    void this.#run();
  }

  isPending(code: string): boolean {
    return this.#inFlight.has(code) || this.#queue.some(({ state }) => state.code === code);
  }

  get pendingCount(): number {
    return this.#inFlight.size + this.#queue.length;
  }

  failure(code: string): Unread | undefined {
    return this.#failed.get(code);
  }

  /** Resolves when a list was read or given up, or at `untilAt`. Rejects with the signal's reason. */
  async nextChange(untilAt: number, signal?: AbortSignal): Promise<void> {
    const { timing } = this.#options;
    const ends = signal === undefined ? this.#change.signal : AbortSignal.any([this.#change.signal, signal]);
    await timing.sleep(untilAt - timing.now(), ends).catch(() => undefined);
    signal?.throwIfAborted();
  }

  #changed(): void {
    this.changes += 1;
    const former = this.#change;
    this.#change = new AbortController();
    former.abort();
  }

  /** Reads what is queued while this process holds the lease, else waits for the lists of the one that does. */
  async #run(): Promise<void> {
    const { limiter, store, timing, closing } = this.#options;
    const lease = `prefetch ${store.budget}`;
    while (this.pendingCount > 0 && !closing.aborted) {
      const isOurs = await store.acquire(lease);
      const delayMs = limiter.delayMs(this.#inFlight.size);
      const mayRead = isOurs && delayMs <= 0 && this.#inFlight.size < CONCURRENCY;
      const next = mayRead ? this.#queue.shift() : undefined;
      if (next === undefined) {
        await this.#takeFromPeers();
        const lookMs = isOurs || delayMs > 0 ? RENEW_MS : PEER_LOOK_MS;
        await this.nextChange(timing.now() + (delayMs > 0 ? Math.min(delayMs, lookMs) : lookMs));
        continue;
      }
      this.#inFlight.add(next.state.code);
      // Closing ends the pause before a second attempt.
      const reading = this.#read(next).catch(() => undefined);
      reading.finally(() => {
        this.#inFlight.delete(next.state.code);
        this.#changed();
      });
    }
    this.#isRunning = false;
    await store.release(lease);
  }

  /** Drops from the queue what other processes have read. */
  async #takeFromPeers(): Promise<void> {
    const { cache } = this.#options;
    await cache.recallDistricts(this.#queue.map(({ state }) => state.code));
    const missing = this.#queue.filter(({ state }) => cache.districtsOf(state.code) === undefined);
    if (missing.length === this.#queue.length) return;
    this.#queue = missing;
    this.#changed();
  }

  async #read(pending: PendingState): Promise<void> {
    const { playground, closing, timing } = this.#options;
    const attempts = pending.attempts + 1;
    try {
      const terms = { isDirect: false, untilAt: Number.POSITIVE_INFINITY };
      await playground.districtsOnce(pending.state.code, terms, closing);
    } catch (error) {
      if (closing.aborted) return;
      const { status, retryable } = error instanceof Failure ? error.facts : {};
      if (status === 403 || (status === 429 && attempts >= MAX_REFUSALS)) {
        this.#stop(pending, error);
      } else if (status === 429) {
        // Nothing is sent before the cooldown ends.
        this.#queue.unshift({ ...pending, attempts });
      } else if (retryable === true && attempts < MAX_ATTEMPTS) {
        await timing.sleep(RETRY_AFTER_MS, closing);
        this.#queue.unshift({ ...pending, attempts });
      } else {
        this.#giveUp(pending, error);
      }
    }
  }

  #giveUp({ state: { code } }: PendingState, error: unknown): void {
    const { retryAfterSeconds } = error instanceof Failure ? error.facts : {};
    const after = retryAfterSeconds === undefined ? {} : { retryAfterSeconds };
    this.#failed.set(code, { state: code, reason: reasonFor(error), ...after });
  }

  #stop(pending: PendingState, error: unknown): void {
    this.#giveUp(pending, error);
    for (const { state } of this.#queue)
      this.#failed.set(state.code, { state: state.code, reason: `not asked for after ${reasonFor(error)}` });
    this.#queue = [];
  }
}
