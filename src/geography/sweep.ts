// Reading many states' districts one after the other, in the background of the calls that wait for them: largest state first,
// each once (a passing failure once more), stopped by a denial.

import type { Timing } from "../api-client/attempts.ts";
import { PLAYGROUND_STATUS, type State } from "../contract/playground.ts";
import { excerpt } from "../excerpt.ts";
import { Failure, reasonOf } from "../failure.ts";
import { escaped, word } from "../outside.ts";
import { LANES, type Permit } from "./limiter.ts";
import type { GetPermit, PlaygroundReader } from "./playground.ts";

const RETRY_AFTER_MS = 1000;
/** So many 429 in a row, each obeyed, and the next question has to ask again. */
const MAX_REFUSALS_IN_A_ROW = 3;
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
  readonly isRepeat: boolean;
}

const USUAL = new Map(
  Object.entries(PLAYGROUND_STATUS).map(([status, value]): [number, string] => [Number(status), value]),
);

const isCalledOff = (signal: AbortSignal): boolean => signal.aborted;

function reasonFor(error: unknown): string {
  if (!(error instanceof Failure)) return excerpt(escaped(reasonOf(error)), MAX_REASON);
  const { status, code, message } = error.facts;
  if (status === undefined) return excerpt(message, MAX_REASON);
  // The contract has one value for each of its statuses: it says no more than the number.
  const isUsual = code === undefined || USUAL.get(status) === code;
  return `HTTP ${status}${isUsual ? "" : ` ${word(code, MAX_REASON)}`}`;
}

export class Sweep {
  readonly #playground: PlaygroundReader;
  readonly #timing: Timing;
  readonly #closing: AbortSignal;
  #queue: PendingState[] = [];
  readonly #underWay = new Set<string>();
  readonly #failed = new Map<string, Unread>();
  #workers = 0;
  #refusalsInARow = 0;
  #refusedAt = Number.NEGATIVE_INFINITY;
  #stops = 0;
  #listeners = new Set<() => void>();

  constructor(playground: PlaygroundReader, timing: Timing, closing: AbortSignal) {
    this.#playground = playground;
    this.#timing = timing;
    this.#closing = closing;
    // Whether it has to wait is news, too.
    playground.limiter.onHeldUp(() => this.#changed());
  }

  /** States asked for and not at hand: they are read as the limiter allows. What failed before is tried again. */
  want(states: readonly State[]): void {
    const queued = new Set(this.#queue.map(({ state }) => state.code));
    const wanted = states.filter(({ code }) => !queued.has(code) && !this.#underWay.has(code));
    for (const { code } of wanted) this.#failed.delete(code);
    this.#queue.push(...wanted.map((state) => ({ state, isRepeat: false })));
    this.#queue.sort((a, b) => b.state.mandalCount - a.state.mandalCount || (a.state.code < b.state.code ? -1 : 1));
    while (this.#workers < Math.min(LANES, this.#queue.length) && !isCalledOff(this.#closing)) this.#hire();
  }

  isPending(code: string): boolean {
    return this.#underWay.has(code) || this.#queue.some(({ state }) => state.code === code);
  }

  /** Something is on its way now, so that an answer may come any moment. */
  get isUnderWay(): boolean {
    return this.#workers > this.#playground.limiter.backgroundCount;
  }

  get pendingCount(): number {
    return this.#underWay.size + this.#queue.length;
  }

  failure(code: string): Unread | undefined {
    return this.#failed.get(code);
  }

  /** Runs `listener` whenever a state was read or given up, or reading is held up. Returns what ends that. */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  #changed(): void {
    for (const listener of [...this.#listeners]) listener();
  }

  #hire(): void {
    this.#workers += 1;
    // The limiter and the pause between two attempts end with the closing signal's reason.
    this.#work().catch(() => undefined);
  }

  async #work(): Promise<void> {
    try {
      while (this.#queue.length > 0) {
        const permit = await this.#permit(this.#closing);
        const errand = this.#queue.shift();
        if (errand === undefined) permit.giveBack();
        else await this.#run(errand, permit);
      }
    } finally {
      this.#workers -= 1;
      this.#changed();
    }
  }

  #permit(signal: AbortSignal): Promise<Permit> {
    return this.#playground.limiter.acquire({ signal, isUrgent: false, untilAt: Number.POSITIVE_INFINITY });
  }

  async #run(errand: PendingState, permit: Permit): Promise<void> {
    const { code } = errand.state;
    const startedAt = this.#timing.now();
    const stopsBefore = this.#stops;
    this.#underWay.add(code);
    let own: Permit | undefined = permit;
    // A second one where another process had its turn and did not read it.
    const getPermit: GetPermit = async (signal) => {
      const first = own;
      own = undefined;
      return first ?? (await this.#permit(signal));
    };
    try {
      await this.#playground.districtsOnce(code, this.#closing, getPermit);
      this.#refusalsInARow = 0;
    } catch (error) {
      if (isCalledOff(this.#closing)) throw error;
      if (this.#stops > stopsBefore) this.#giveUp(errand, error);
      else await this.#settle(errand, error, startedAt);
    } finally {
      // Where somebody else's request was joined, or the answer was at hand.
      permit.giveBack();
      this.#underWay.delete(code);
      this.#changed();
    }
  }

  async #settle(errand: PendingState, error: unknown, startedAt: number): Promise<void> {
    const facts = error instanceof Failure ? error.facts : undefined;
    if (facts?.status === 429) this.#countRefusal(startedAt);
    if (facts?.status === 403 || this.#refusalsInARow >= MAX_REFUSALS_IN_A_ROW) {
      this.#stop(errand, error);
    } else if (facts?.kind === "rate_limited") {
      // The limiter is frozen until Retry-After is over: nothing is lost by standing in line again.
      this.#queue.unshift(errand);
    } else if (facts?.retryable === true && !errand.isRepeat) {
      await this.#timing.sleep(RETRY_AFTER_MS, this.#closing);
      this.#queue.unshift({ ...errand, isRepeat: true });
    } else {
      this.#giveUp(errand, error);
    }
  }

  #giveUp({ state: { code } }: PendingState, error: unknown): void {
    const { retryAfterSeconds } = error instanceof Failure ? error.facts : {};
    const after = retryAfterSeconds === undefined ? {} : { retryAfterSeconds };
    this.#failed.set(code, { state: code, reason: reasonFor(error), ...after });
  }

  /** Requests that were under way together are refused together: that counts once. */
  #countRefusal(startedAt: number): void {
    if (startedAt < this.#refusedAt) return;
    this.#refusalsInARow += 1;
    this.#refusedAt = this.#timing.now();
  }

  #stop(errand: PendingState, error: unknown): void {
    this.#giveUp(errand, error);
    for (const { state } of this.#queue)
      this.#failed.set(state.code, { state: state.code, reason: `not asked for after ${reasonFor(error)}` });
    this.#queue = [];
    this.#refusalsInARow = 0;
    this.#stops += 1;
  }
}
