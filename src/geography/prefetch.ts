// Reads many states' districts in the background of the calls that wait for them: largest state first, each again after a transient
// failure, until the API denies a request. One process at a time does so for all that share a store; the others wait for its lists.
import { PLAYGROUND_STATUS, type State } from "../contract/playground.ts";
import { errorMessage, Failure } from "../core/failure.ts";
import { escapeText, excerpt, formatToken } from "../core/untrusted-text.ts";
import { CONCURRENCY } from "./limiter.ts";
import type { PlaygroundDependencies, PlaygroundReader } from "./playground.ts";

/** Of each list. After as many 429 for one list, each obeyed, the prefetch stops until the next call. */
const MAX_ATTEMPTS = 2;
/** How often the lease is renewed, and how often the lists of the process that holds it are looked for. */
const RENEW_INTERVAL_MS = 1_000;
const PEER_POLL_INTERVAL_MS = 250;
const MAX_REASON_LENGTH = 200;

/** Why a state's districts are not known. */
export interface MissingState {
  /** The state's code. */
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
  // The contract has one value for each of its statuses: it says no more than the number.
  const isContractCode = code === undefined || CONTRACT_CODES.get(status) === code;
  return `HTTP ${status}${isContractCode ? "" : ` ${formatToken(code, MAX_REASON_LENGTH)}`}`;
}

export class Prefetch {
  readonly #playground: PlaygroundReader;
  readonly #dependencies: PlaygroundDependencies;
  readonly #closing: AbortSignal;
  #queue: State[] = [];
  readonly #inFlight = new Set<string>();
  readonly #failures = new Map<string, MissingState>();
  #isRunning = false;
  #change = new AbortController();

  /** `closing` ends everything that is in flight. */
  constructor(playground: PlaygroundReader, dependencies: PlaygroundDependencies, closing: AbortSignal) {
    this.#playground = playground;
    this.#dependencies = dependencies;
    this.#closing = closing;
    closing.addEventListener("abort", () => this.#notifyChange(), { once: true });
  }

  /** Queues states whose lists are missing. What failed before is tried again. */
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

  /** Aborted as soon as a list is read or given up. */
  get change(): AbortSignal {
    return this.#change.signal;
  }

  #notifyChange(): void {
    const previous = this.#change;
    this.#change = new AbortController();
    previous.abort();
  }

  /** Reads what is queued while this process holds the lease, else waits for the lists of the one that does. */
  async #run(): Promise<void> {
    const { limiter, store, timing } = this.#dependencies;
    const lease = `prefetch ${store.budget}`;
    while (this.pendingCount > 0 && !this.#closing.aborted) {
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

  /** Drops from the queue what other processes have read. */
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
    const context = { signal: this.#closing, deadlineAt: Number.POSITIVE_INFINITY, maxAttempts: MAX_ATTEMPTS };
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
