// Sliding-window limits of the playground, docs/contract.md, 8.
import { BoundedMap } from "../bounded-map.ts";
import { MAX_KEPT, PLAYGROUND_WINDOW_MS } from "./choices.ts";
import { type Clock, SECOND } from "./clock.ts";

export interface Limit {
  /** Undefined: this limit does not apply to the request. */
  readonly address: string | undefined;
  readonly max: number;
}

export class RateLimit {
  /** The times of the admitted requests within the window, oldest first, by limit and address. */
  readonly #admitted = new BoundedMap<string, readonly number[]>(MAX_KEPT.peers);
  readonly #clock: Clock;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Counts the request under each limit if all admit it; otherwise returns after how many seconds they will. */
  admit(limits: readonly Limit[]): { readonly retryAfterSeconds: number } | undefined {
    const now = this.#clock.now();
    const applied = limits.flatMap(({ address, max }) => {
      if (address === undefined) return [];
      const name = `${max} ${address}`;
      const times = (this.#admitted.get(name) ?? []).filter((time) => time > now - PLAYGROUND_WINDOW_MS);
      return [{ name, times, fullUntil: (times.at(-max) ?? Number.NEGATIVE_INFINITY) + PLAYGROUND_WINDOW_MS }];
    });
    const fullUntil = Math.max(now, ...applied.map((limit) => limit.fullUntil));
    for (const { name, times } of applied) {
      // The oldest entry of the map is the address with the longest silence.
      this.#admitted.delete(name);
      this.#admitted.set(name, fullUntil > now ? times : [...times, now]);
    }
    return fullUntil > now ? { retryAfterSeconds: Math.max(1, Math.ceil((fullUntil - now) / SECOND)) } : undefined;
  }
}
