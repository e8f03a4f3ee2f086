// Provides the emulator's clock, which can be advanced and never moves backward.

export interface Clock {
  /** Milliseconds since 1970. */
  now(): number;
}

export interface AdjustableClock extends Clock {
  advance(byMs: number): void;
}

export const systemClock: Clock = { now: () => Date.now() };

/** Adds the advanced time to that of `source`. If the source steps back, this clock stops until the source has caught up. */
export function createAdjustableClock(source: Clock): AdjustableClock {
  let addedMs = 0;
  let latest = Number.NEGATIVE_INFINITY;
  return {
    now() {
      latest = Math.max(latest, Math.floor(source.now()) + addedMs);
      return latest;
    },
    advance(byMs) {
      addedMs += byMs;
    },
  };
}

export const SECOND = 1000;
export const MINUTE = 60 * SECOND;
export const HOUR = 60 * MINUTE;
export const DAY = 24 * HOUR;

/** Formats milliseconds since 1970 as `YYYY-MM-DDThh:mm:ss.sssZ`, which is both a date-time and a UTC instant of the contract. */
export const toInstant = (ms: number): string => new Date(ms).toISOString();
