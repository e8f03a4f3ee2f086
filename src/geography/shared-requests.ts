// One request in the air for each key, however many ask; given up when nobody waits for it any more.

interface Flight<T> {
  readonly answer: Promise<T>;
  readonly controller: AbortController;
  waiting: number;
}

/** The promise's outcome, unless the signal is sooner. */
export function unlessAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const onAbort = (): void => reject(signal.reason);
    if (signal.aborted) return onAbort();
    signal.addEventListener("abort", onAbort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener("abort", onAbort));
  });
}

export class Flights<T> {
  readonly #air = new Map<string, Flight<T>>();

  /** Joins the flight under this key, or starts one. */
  async join(key: string, signal: AbortSignal, start: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const flight = this.#air.get(key) ?? this.#launch(key, start);
    flight.waiting += 1;
    try {
      return await unlessAborted(flight.answer, signal);
    } finally {
      flight.waiting -= 1;
      if (flight.waiting === 0) {
        this.#land(key, flight);
        flight.controller.abort();
      }
    }
  }

  has(key: string): boolean {
    return this.#air.has(key);
  }

  #launch(key: string, start: (signal: AbortSignal) => Promise<T>): Flight<T> {
    const controller = new AbortController();
    const answer = start(controller.signal);
    const flight: Flight<T> = { answer, controller, waiting: 0 };
    this.#air.set(key, flight);
    const land = (): void => this.#land(key, flight);
    answer.then(land, land);
    return flight;
  }

  #land(key: string, flight: Flight<T>): void {
    if (this.#air.get(key) === flight) this.#air.delete(key);
  }
}
