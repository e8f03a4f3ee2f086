// A map that forgets its oldest entries: what keeps a long-lived process small.

/** Holds `max` entries at most. As in any map, a key that is set again keeps its place. */
export class BoundedMap<K, V> extends Map<K, V> {
  readonly #max: number;

  constructor(max: number) {
    super();
    this.#max = max;
  }

  override set(key: K, value: V): this {
    super.set(key, value);
    for (const oldest of this.keys()) {
      if (this.size <= this.#max) break;
      this.delete(oldest);
    }
    return this;
  }

  /** Forgets from the oldest on, up to the first entry that `isOver` denies. */
  deleteOldestWhile(isExpired: (value: V) => boolean): void {
    for (const [key, value] of this) {
      if (!isExpired(value)) return;
      this.delete(key);
    }
  }
}
