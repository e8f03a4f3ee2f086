// Reads many states' districts in the background while calls wait for them, the state with the most mandals first. Transient
// failures are retried; a denied request ends the prefetch. Only one of the processes that share a store prefetches at a time;
// the others wait for its lists.
import { PLAYGROUND_STATUS, type State } from "../contract/playground.ts";
import { errorMessage, Failure } from "../core/failure.ts";
import { escapeText, excerpt, formatToken } from "../core/untrusted-text.ts";
import { CONCURRENCY } from "./limiter.ts";
import type { PlaygroundDependencies, PlaygroundReader } from "./playground.ts";

/** The prefetch observes each Retry-After; if the last attempt gets a 429, it stops until the next call. */
const MAX_ATTEMPTS = 2;
/** Interval at which the lease is renewed. */
const RENEW_INTERVAL_MS = 1_000;
/** Interval at which this process loads the lists of the process that holds the lease. */
const PEER_POLL_INTERVAL_MS = 500;
const MAX_REASON_LENGTH = 200;

export interface MissingState {
  readonly state: string;
  readonly reason: string;
  readonly retryAfterSeconds?: number;
}

const CONTRACT_CODES = new Map(
  Object.entries(PLAYGROUND_STATUS).map(([status, value]): [number, string] => [Number(status), value]),
);

function describeError(error: unknown): string {
  if (!(error instanceof Failure)) return excerpt(escapeText(errorMessage(error)), MAX_REASON_LENGTH);
  const { status, code } = error.facts;
  if (status === undefined) return excerpt(error.message, MAX_REASON_LENGTH);
  // The contract defines one code for each of its statuses, so this code adds nothing to the number.
  const isContractCode = code === undefined || CONTRACT_CODES.get(status) === code;
  return `HTTP ${status}${isContractCode ? "" : ` ${formatToken(code, MAX_REASON_LENGTH)}`}`;
}

export function createPrefetch(playground: PlaygroundReader, dependencies: PlaygroundDependencies) {
  const { catalog, closing, limiter, timing } = dependencies;
  const leaseUser = {};
  const inFlight = new Set<string>();
  const failures = new Map<string, MissingState>();
  let queue: State[] = [];
  let isRunning = false;
  let change = new AbortController();

  function notifyChange(): void {
    const previous = change;
    change = new AbortController();
    previous.abort();
  }
  closing.addEventListener("abort", notifyChange, { once: true });

  const countPending = (): number => inFlight.size + queue.length;
  const isPending = (code: string): boolean => inFlight.has(code) || queue.some((state) => state.code === code);

  function dropKnownLists(): void {
    const missing = queue.filter(({ code }) => catalog.getDistricts(code) === undefined);
    if (missing.length === queue.length) return;
    queue = missing;
    notifyChange();
  }

  async function read({ code }: State): Promise<void> {
    inFlight.add(code);
    const context = { signal: closing, deadlineAt: Number.POSITIVE_INFINITY, maxAttempts: MAX_ATTEMPTS };
    try {
      await playground.districts(code, context, false);
    } catch (error) {
      const { status, retryAfterSeconds } = error instanceof Failure ? error.facts : {};
      const retryFields = retryAfterSeconds === undefined ? {} : { retryAfterSeconds };
      failures.set(code, { state: code, reason: describeError(error), ...retryFields });
      if (status === 403 || status === 429) {
        for (const state of queue)
          failures.set(state.code, { state: state.code, reason: `not asked for after ${describeError(error)}` });
        queue = [];
      }
    } finally {
      inFlight.delete(code);
      notifyChange();
    }
  }

  /** Reads the queued lists while this process holds the lease; otherwise waits for the lists of the process that holds it. */
  async function run(): Promise<void> {
    let hasLease = false;
    let renewAt = Number.NEGATIVE_INFINITY;
    while (countPending() > 0 && !closing.aborted) {
      if (timing.clockMs() >= renewAt) {
        hasLease = await catalog.acquire(leaseUser);
        renewAt = timing.clockMs() + (hasLease ? RENEW_INTERVAL_MS : PEER_POLL_INTERVAL_MS);
        dropKnownLists();
      }
      const delayMs = limiter.delayMs(inFlight.size);
      const mayRead = hasLease && delayMs <= 0 && inFlight.size < CONCURRENCY;
      const next = mayRead ? queue.shift() : undefined;
      if (next !== undefined) {
        void read(next);
        continue;
      }
      const waitMs = Math.max(0, renewAt - timing.clockMs());
      await timing.sleep(delayMs > 0 ? Math.min(delayMs, waitMs) : waitMs, change.signal).catch(() => undefined);
    }
    isRunning = false;
    await catalog.release(leaseUser);
  }

  return {
    /** Queues states whose lists are missing. States that failed before are tried again. */
    enqueue(states: readonly State[]): void {
      const newStates = states.filter(({ code }) => !isPending(code));
      for (const { code } of newStates) failures.delete(code);
      queue.push(...newStates);
      queue.sort((a, b) => b.mandalCount - a.mandalCount || (a.code < b.code ? -1 : 1));
      if (isRunning) return;
      isRunning = true;
      void run();
    },
    isPending,
    countPending,
    getFailure: (code: string): MissingState | undefined => failures.get(code),
    /** Returns a signal that is aborted as soon as a list is read or has failed, or when the prefetch is closed. */
    getChange: (): AbortSignal => change.signal,
  };
}
