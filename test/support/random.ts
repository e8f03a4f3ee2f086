// Chance that a seed repeats.

export interface SeededRandom {
  /** From 0 to 1, 1 excluded. */
  next(): number;
  /** A whole number below `limit`. */
  nextInteger(limit: number): number;
  /** One of them. */
  pick<T>(all: readonly T[]): T;
}

/** A linear congruence (Numerical Recipes): enough to choose moments and victims with. */
export function createSeededRandom(seed: number): SeededRandom {
  let state = seed >>> 0;
  const next = (): number => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
  const nextInteger = (limit: number): number => Math.floor(next() * limit);
  return {
    next,
    nextInteger,
    pick(all) {
      const one = all[nextInteger(all.length)];
      if (one === undefined) throw new Error("there is nothing to choose from");
      return one;
    },
  };
}
