// The ledger of all processes behind one address. While what they share cannot be used, each
// keeps to a ledger of its own: that costs speed or a 429, and never an answer.
import type { Entry, Ledger, LedgerState, OwnLedger } from "./ledger.ts";
import type { Neighbours } from "./neighbours.ts";

/** After a failure it is not tried again for so long. */
const APART_MS = 30_000;

export class SharedLedger implements Ledger {
  readonly #neighbours: Neighbours;
  /** Holds our own requests, whether they are shared or not. */
  readonly #own: OwnLedger;
  readonly #now: () => number;
  readonly #ids = new WeakMap<Entry, string>();
  #state: LedgerState | undefined;
  #apartUntilAt = Number.NEGATIVE_INFINITY;

  constructor(neighbours: Neighbours, own: OwnLedger, now: () => number) {
    this.#neighbours = neighbours;
    this.#own = own;
    this.#now = now;
  }

  get isShared(): boolean {
    return this.#now() >= this.#apartUntilAt;
  }

  state(): LedgerState {
    const own = this.#own.state();
    if (this.#state === undefined || !this.isShared) return own;
    return {
      freeAt: this.#state.freeAt,
      frozenUntilAt: Math.max(this.#state.frozenUntilAt, own.frozenUntilAt),
      slowedUntilAt: Math.max(this.#state.slowedUntilAt, own.slowedUntilAt),
    };
  }

  async #shared<T>(work: () => Promise<T>): Promise<T | undefined> {
    if (!this.isShared) return undefined;
    try {
      return await work();
    } catch {
      this.#apartUntilAt = this.#now() + APART_MS;
      this.#state = undefined;
      return undefined;
    }
  }

  async #keep(work: () => Promise<LedgerState>): Promise<void> {
    this.#state = (await this.#shared(work)) ?? this.#state;
  }

  async #take(isUrgent: boolean): Promise<string | undefined> {
    const { id, state } = await this.#neighbours.take(isUrgent);
    this.#state = state;
    return id;
  }

  async take(isUrgent: boolean): Promise<Entry | undefined> {
    const id = await this.#shared(() => this.#take(isUrgent));
    if (!this.isShared) return await this.#own.take(isUrgent);
    if (id === undefined) return undefined;
    const entry = this.#own.enter();
    this.#ids.set(entry, id);
    return entry;
  }

  async end(entry: Entry): Promise<void> {
    await this.#own.end(entry);
    const id = this.#ids.get(entry);
    if (id !== undefined) await this.#keep(() => this.#neighbours.end(id));
  }

  async giveBack(entry: Entry): Promise<void> {
    await this.#own.giveBack(entry);
    const id = this.#ids.get(entry);
    if (id !== undefined) await this.#keep(() => this.#neighbours.giveBack(id));
  }

  async pause(ms: number): Promise<void> {
    await this.#own.pause(ms);
    await this.#keep(() => this.#neighbours.pause(ms));
  }

  /** Whoever is by himself reads whatever he needs. */
  async takeTurn(entry: Entry, list: string): Promise<boolean> {
    const id = this.#ids.get(entry);
    if (id === undefined) return true;
    return (await this.#shared(() => this.#neighbours.takeTurn(id, list))) ?? true;
  }

  async endTurn(entry: Entry): Promise<void> {
    const id = this.#ids.get(entry);
    if (id !== undefined) await this.#shared(() => this.#neighbours.endTurn(id));
  }

  close(): Promise<void> {
    return this.#neighbours.close();
  }
}
