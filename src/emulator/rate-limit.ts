// Sliding-window limits of the playground, docs/contract.md, 8.
import { BoundedMap } from "../bounded-map.ts";
import { MAX_KEPT, PLAYGROUND_WINDOW_MS } from "./choices.ts";
import { type Clock, SECOND } from "./clock.ts";

/** Admissions of one address within the window, oldest first. */
class Window {
  #times: number[] = [];

  prune(now: number): void {
    const kept = this.#times.findIndex((time) => time > now - PLAYGROUND_WINDOW_MS);
    if (kept !== 0) this.#times = kept < 0 ? [] : this.#times.slice(kept);
  }

  /** When the next request is admitted; undefined: now. */
  fullUntil(max: number): number | undefined {
    const oldest = this.#times[this.#times.length - max];
    return oldest === undefined ? undefined : oldest + PLAYGROUND_WINDOW_MS;
  }

  add(now: number): void {
    this.#times.push(now);
  }
}

export interface Limit {
  /** Undefined: this limit does not apply to the request. */
  readonly address: string | undefined;
  readonly max: number;
}

export class RateLimit {
  readonly #windows = new BoundedMap<string, Window>(MAX_KEPT.peers);
  readonly #clock: Clock;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Counts the request under each limit if all admit it; else says after how many seconds they will. */
  admit(limits: readonly Limit[]): { readonly retryAfterSeconds: number } | undefined {
    const now = this.#clock.now();
    const windows: Window[] = [];
    let fullUntil = now;
    for (const { address, max } of limits) {
      if (address === undefined) continue;
      const window = this.#windowOf(`${max} ${address}`, now);
      windows.push(window);
      fullUntil = Math.max(fullUntil, window.fullUntil(max) ?? now);
    }
    if (fullUntil > now) return { retryAfterSeconds: Math.max(1, Math.ceil((fullUntil - now) / SECOND)) };
    for (const window of windows) window.add(now);
    return undefined;
  }

  #windowOf(name: string, now: number): Window {
    const window = this.#windows.get(name) ?? new Window();
    // Set anew: the oldest entry of the map is the address that was silent longest.
    this.#windows.delete(name);
    this.#windows.set(name, window);
    window.prune(now);
    return window;
  }
}
