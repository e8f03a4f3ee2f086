// A random number generator that repeats its sequence for the same seed.

/** A linear congruential generator (Numerical Recipes): good enough to choose times and processes. */
export function createSeededRandom(seed: number) {
  let state = seed >>> 0;
  const next = (): number => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
  const nextInteger = (limit: number): number => Math.floor(next() * limit);
  return {
    next,
    nextInteger,
    pick<T>(all: readonly T[]): T {
      const one = all[nextInteger(all.length)];
      if (one === undefined) throw new Error("there is nothing to choose from");
      return one;
    },
  };
}

export type SeededRandom = ReturnType<typeof createSeededRandom>;
