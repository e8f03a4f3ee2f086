// The emulator's time: a source of milliseconds, moved forward on request, never backwards.

export interface Clock {
  /** Milliseconds since 1970. */
  now(): number;
}

export interface AdjustableClock extends Clock {
  advance(byMs: number): void;
}

export const systemClock: Clock = { now: () => Date.now() };

/** What `source` says plus what was advanced; a source that steps back makes this one stand still. */
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

/** `YYYY-MM-DDThh:mm:ss.sssZ`: a date-time and a UTC instant of the contract alike. */
export const toInstant = (ms: number): string => new Date(ms).toISOString();
