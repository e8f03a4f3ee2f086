// This map deletes its oldest entries, so that a long-lived process stays small.

/** Contains at most `max` entries. As in any Map, a key that is set again keeps its position. */
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

  /** Deletes entries, oldest first, up to the first one for which `isExpired` returns false. */
  deleteOldestWhile(isExpired: (value: V) => boolean): void {
    for (const [key, value] of this) {
      if (!isExpired(value)) return;
      this.delete(key);
    }
  }
}
