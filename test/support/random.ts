// Chance that a seed repeats.

export interface Chance {
  /** From 0 to 1, 1 excluded. */
  next(): number;
  /** A whole number below `limit`. */
  below(limit: number): number;
  /** One of them. */
  of<T>(all: readonly T[]): T;
}

/** A linear congruence (Numerical Recipes): enough to choose moments and victims with. */
export function chanceFrom(seed: number): Chance {
  let state = seed >>> 0;
  const next = (): number => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
  const below = (limit: number): number => Math.floor(next() * limit);
  return {
    next,
    below,
    of(all) {
      const one = all[below(all.length)];
      if (one === undefined) throw new Error("there is nothing to choose from");
      return one;
    },
  };
}
