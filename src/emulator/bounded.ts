// A map that forgets its oldest entries: what keeps a long-lived emulator small.

export class BoundedMap<K, V> {
  readonly #entries = new Map<K, V>();
  readonly #max: number;

  constructor(max: number) {
    this.#max = max;
  }

  get(key: K): V | undefined {
    return this.#entries.get(key);
  }

  set(key: K, value: V): void {
    this.#entries.set(key, value);
    while (this.#entries.size > this.#max) this.#forgetOldest();
  }

  delete(key: K): void {
    this.#entries.delete(key);
  }

  clear(): void {
    this.#entries.clear();
  }

  /** Oldest first. */
  values(): IterableIterator<V> {
    return this.#entries.values();
  }

  /** Forgets from the oldest on, up to the first entry that `isOver` denies. */
  forgetWhile(isOver: (value: V) => boolean): void {
    for (const [key, value] of this.#entries) {
      if (!isOver(value)) return;
      this.#entries.delete(key);
    }
  }

  #forgetOldest(): void {
    for (const key of this.#entries.keys()) {
      this.#entries.delete(key);
      return;
    }
  }
}
