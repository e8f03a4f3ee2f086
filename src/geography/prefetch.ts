// Reads many states' districts in the background while calls wait for them, the state with the most mandals first. Transient
// failures are retried; a denied request ends the prefetch. Only one of the processes that share a store prefetches at a time;
// the others wait for its lists.
import { PLAYGROUND_STATUS, type State } from "../contract/playground.ts";
import { errorMessage, Failure } from "../core/failure.ts";
import { escapeText, excerpt, formatToken } from "../core/untrusted-text.ts";
import { CONCURRENCY } from "./limiter.ts";
import type { PlaygroundDependencies, PlaygroundReader } from "./playground.ts";

/**
 * Attempts for each list. The prefetch observes each Retry-After; if the last attempt gets a 429, it stops until the next call.
 */
const MAX_ATTEMPTS = 2;
/** Interval at which the lease is renewed. */
const RENEW_INTERVAL_MS = 1_000;
/** Interval at which this process looks for the lists of the process that holds the lease. */
const PEER_POLL_INTERVAL_MS = 250;
const MAX_REASON_LENGTH = 200;

/** Describes why a state's districts are missing. */
export interface MissingState {
  /** State code. */
  readonly state: string;
  readonly reason: string;
  readonly retryAfterSeconds?: number;
}

const CONTRACT_CODES = new Map(
  Object.entries(PLAYGROUND_STATUS).map(([status, value]): [number, string] => [Number(status), value]),
);

function describeError(error: unknown): string {
  if (!(error instanceof Failure)) return excerpt(escapeText(errorMessage(error)), MAX_REASON_LENGTH);
  const { status, code, message } = error.facts;
  if (status === undefined) return excerpt(message, MAX_REASON_LENGTH);
  // The contract defines one code for each of its statuses, so this code adds nothing to the number.
  const isContractCode = code === undefined || CONTRACT_CODES.get(status) === code;
  return `HTTP ${status}${isContractCode ? "" : ` ${formatToken(code, MAX_REASON_LENGTH)}`}`;
}

export class Prefetch {
  readonly #playground: PlaygroundReader;
  readonly #dependencies: PlaygroundDependencies;
  #queue: State[] = [];
  readonly #inFlight = new Set<string>();
  readonly #failures = new Map<string, MissingState>();
  #isRunning = false;
  #change = new AbortController();

  constructor(playground: PlaygroundReader, dependencies: PlaygroundDependencies) {
    this.#playground = playground;
    this.#dependencies = dependencies;
    dependencies.closing.addEventListener("abort", () => this.#notifyChange(), { once: true });
  }

  /** Queues states whose lists are missing. States that failed before are tried again. */
  enqueue(states: readonly State[]): void {
    const newStates = states.filter(({ code }) => !this.isPending(code));
    for (const { code } of newStates) this.#failures.delete(code);
    this.#queue.push(...newStates);
    this.#queue.sort((a, b) => b.mandalCount - a.mandalCount || (a.code < b.code ? -1 : 1));
    if (this.#isRunning) return;
    this.#isRunning = true;
    void this.#run();
  }

  isPending(code: string): boolean {
    return this.#inFlight.has(code) || this.#queue.some((state) => state.code === code);
  }

  get pendingCount(): number {
    return this.#inFlight.size + this.#queue.length;
  }

  getFailure(code: string): MissingState | undefined {
    return this.#failures.get(code);
  }

  /** Aborted as soon as a list is read or has failed, or when the prefetch is closed. */
  get change(): AbortSignal {
    return this.#change.signal;
  }

  #notifyChange(): void {
    const previous = this.#change;
    this.#change = new AbortController();
    previous.abort();
  }

  /** Reads the queued lists while this process holds the lease; otherwise waits for the lists of the process that holds it. */
  async #run(): Promise<void> {
    const { limiter, store, timing, closing } = this.#dependencies;
    const lease = `prefetch ${store.budget}`;
    while (this.pendingCount > 0 && !closing.aborted) {
      const hasLease = await store.acquire(lease);
      const delayMs = limiter.delayMs(this.#inFlight.size);
      const mayRead = hasLease && delayMs <= 0 && this.#inFlight.size < CONCURRENCY;
      const next = mayRead ? this.#queue.shift() : undefined;
      if (next !== undefined) {
        void this.#read(next);
        continue;
      }
      await this.#dropListsOfPeers();
      const pollMs = hasLease || delayMs > 0 ? RENEW_INTERVAL_MS : PEER_POLL_INTERVAL_MS;
      await timing.sleep(delayMs > 0 ? Math.min(delayMs, pollMs) : pollMs, this.change).catch(() => undefined);
    }
    this.#isRunning = false;
    await store.release(lease);
  }

  /** Removes from the queue the states whose lists other processes have read. */
  async #dropListsOfPeers(): Promise<void> {
    const { cache } = this.#dependencies;
    await cache.loadDistricts(this.#queue.map(({ code }) => code));
    const missing = this.#queue.filter(({ code }) => cache.getDistricts(code) === undefined);
    if (missing.length === this.#queue.length) return;
    this.#queue = missing;
    this.#notifyChange();
  }

  async #read({ code }: State): Promise<void> {
    this.#inFlight.add(code);
    const context = {
      signal: this.#dependencies.closing,
      deadlineAt: Number.POSITIVE_INFINITY,
      maxAttempts: MAX_ATTEMPTS,
    };
    try {
      await this.#playground.districts(code, context, false);
    } catch (error) {
      const { status, retryAfterSeconds } = error instanceof Failure ? error.facts : {};
      const retryFields = retryAfterSeconds === undefined ? {} : { retryAfterSeconds };
      this.#failures.set(code, { state: code, reason: describeError(error), ...retryFields });
      if (status === 403 || status === 429) {
        for (const state of this.#queue)
          this.#failures.set(state.code, { state: state.code, reason: `not asked for after ${describeError(error)}` });
        this.#queue = [];
      }
    } finally {
      this.#inFlight.delete(code);
      this.#notifyChange();
    }
  }
}
