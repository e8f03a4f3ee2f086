// Reads many states' districts in the background of the calls that wait for them: largest state first, each again after a transient
// failure, until the API denies a request. One process at a time does so for all that share a store; the others wait for its lists.
import { PLAYGROUND_STATUS, type State } from "../contract/playground.ts";
import { errorMessage, Failure } from "../core/failure.ts";
import { escapeText, excerpt, formatToken } from "../core/untrusted-text.ts";
import { CONCURRENCY } from "./limiter.ts";
import type { PlaygroundParts, PlaygroundReader } from "./playground.ts";

/** Of each list. After as many 429 for one list, each obeyed, the prefetch stops until the next call. */
const MAX_ATTEMPTS = 2;
/** How often the lease is renewed, and how often the lists of the process that holds it are looked for. */
const RENEW_MS = 1_000;
const PEER_LOOK_MS = 250;
const MAX_REASON = 200;

/** Why a state's districts are not known. */
export interface MissingState {
  /** The state's code. */
  readonly state: string;
  readonly reason: string;
  readonly retryAfterSeconds?: number;
}

const USUAL = new Map(
  Object.entries(PLAYGROUND_STATUS).map(([status, value]): [number, string] => [Number(status), value]),
);

function reasonFor(error: unknown): string {
  if (!(error instanceof Failure)) return excerpt(escapeText(errorMessage(error)), MAX_REASON);
  const { status, code, message } = error.facts;
  if (status === undefined) return excerpt(message, MAX_REASON);
  // The contract has one value for each of its statuses: it says no more than the number.
  const isUsual = code === undefined || USUAL.get(status) === code;
  return `HTTP ${status}${isUsual ? "" : ` ${formatToken(code, MAX_REASON)}`}`;
}

export class Prefetch {
  readonly #playground: PlaygroundReader;
  readonly #parts: PlaygroundParts;
  readonly #closing: AbortSignal;
  #queue: State[] = [];
  readonly #inFlight = new Set<string>();
  readonly #failed = new Map<string, MissingState>();
  #isRunning = false;
  #change = new AbortController();

  /** `closing` ends everything that is in flight. */
  constructor(playground: PlaygroundReader, parts: PlaygroundParts, closing: AbortSignal) {
    this.#playground = playground;
    this.#parts = parts;
    this.#closing = closing;
    closing.addEventListener("abort", () => this.#changed(), { once: true });
  }

  /** Queues states whose lists are missing. What failed before is tried again. */
  want(states: readonly State[]): void {
    const wanted = states.filter(({ code }) => !this.isPending(code));
    for (const { code } of wanted) this.#failed.delete(code);
    this.#queue.push(...wanted);
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

  failure(code: string): MissingState | undefined {
    return this.#failed.get(code);
  }

  /** Aborted as soon as a list is read or given up. */
  get change(): AbortSignal {
    return this.#change.signal;
  }

  #changed(): void {
    const former = this.#change;
    this.#change = new AbortController();
    former.abort();
  }

  /** Reads what is queued while this process holds the lease, else waits for the lists of the one that does. */
  async #run(): Promise<void> {
    const { limiter, store, timing } = this.#parts;
    const lease = `prefetch ${store.budget}`;
    while (this.pendingCount > 0 && !this.#closing.aborted) {
      const isOurs = await store.acquire(lease);
      const delayMs = limiter.delayMs(this.#inFlight.size);
      const mayRead = isOurs && delayMs <= 0 && this.#inFlight.size < CONCURRENCY;
      const next = mayRead ? this.#queue.shift() : undefined;
      if (next !== undefined) {
        void this.#read(next);
        continue;
      }
      await this.#takeFromPeers();
      const lookMs = isOurs || delayMs > 0 ? RENEW_MS : PEER_LOOK_MS;
      await timing.sleep(delayMs > 0 ? Math.min(delayMs, lookMs) : lookMs, this.change).catch(() => undefined);
    }
    this.#isRunning = false;
    await store.release(lease);
  }

  /** Drops from the queue what other processes have read. */
  async #takeFromPeers(): Promise<void> {
    const { cache } = this.#parts;
    await cache.recallDistricts(this.#queue.map(({ code }) => code));
    const missing = this.#queue.filter(({ code }) => cache.districtsOf(code) === undefined);
    if (missing.length === this.#queue.length) return;
    this.#queue = missing;
    this.#changed();
  }

  async #read({ code }: State): Promise<void> {
    this.#inFlight.add(code);
    const context = { signal: this.#closing, deadlineAt: Number.POSITIVE_INFINITY, maxAttempts: MAX_ATTEMPTS };
    try {
      await this.#playground.districts(code, context, false);
    } catch (error) {
      const { status, retryAfterSeconds } = error instanceof Failure ? error.facts : {};
      const after = retryAfterSeconds === undefined ? {} : { retryAfterSeconds };
      this.#failed.set(code, { state: code, reason: reasonFor(error), ...after });
      if (status === 403 || status === 429) {
        for (const state of this.#queue)
          this.#failed.set(state.code, { state: state.code, reason: `not asked for after ${reasonFor(error)}` });
        this.#queue = [];
      }
    } finally {
      this.#inFlight.delete(code);
      this.#changed();
    }
  }
}
