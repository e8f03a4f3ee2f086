// Limits what one caller may ask of one instance. They protect the instance, and each instance counts by itself.

export interface CallerLimits {
  /** Calls a minute. */
  readonly rate: number;
  /** Calls at once. */
  readonly calls: number;
}

/** Streams of one caller at once: clients hold one or two. */
const MAX_STREAMS = 32;
const MAX_CALLERS = 10_000;

/** Fills with `perMinute` drops a minute and holds as many. */
interface Bucket {
  drops: number;
  at: number;
}

function fill(bucket: Bucket, perMinute: number, nowMs: number): void {
  bucket.drops = Math.min(perMinute, bucket.drops + ((nowMs - bucket.at) / 60_000) * perMinute);
  bucket.at = nowMs;
}

/** How long until it holds so many. */
const secondsUntil = (bucket: Bucket, drops: number, perMinute: number): number =>
  Math.max(1, Math.ceil(((drops - bucket.drops) / perMinute) * 60));

interface AtWork extends Bucket {
  calls: number;
  streams: number;
}

/** `why` completes "This caller has ...". */
export interface Over {
  readonly why: string;
  readonly retryAfterSeconds: number;
}
export type Entered = { readonly leave: () => void } | Over;

export function createCallerLimits({ rate, calls }: CallerLimits, monotonicMs: () => number) {
  const callers = new Map<string, AtWork>();

  /** Forgets whoever has nothing under way and a full bucket: a new one is the same. */
  function forget(): void {
    for (const [id, at] of callers) {
      fill(at, rate, monotonicMs());
      if (at.calls + at.streams === 0 && at.drops >= rate) callers.delete(id);
    }
  }

  function workOf(id: string): AtWork {
    const known = callers.get(id);
    if (known) return known;
    if (callers.size >= MAX_CALLERS) forget();
    const made = { drops: rate, at: monotonicMs(), calls: 0, streams: 0 };
    callers.set(id, made);
    return made;
  }

  const overRate = (work: AtWork, drops: number): Over | undefined =>
    work.drops < drops
      ? { why: `made ${rate} calls within a minute`, retryAfterSeconds: secondsUntil(work, drops, rate) }
      : undefined;

  return {
    /** So many messages that are over at once, such as notifications. Undefined where there is room for them. */
    count(caller: string, count: number): Over | undefined {
      const work = workOf(caller);
      fill(work, rate, monotonicMs());
      const drops = Math.min(count, rate);
      const over = overRate(work, drops);
      if (!over) work.drops -= drops;
      return over;
    },

    /** So many calls in one request: they begin together or not at all. A batch that is larger than the limits counts as the limits. */
    enterCalls(caller: string, count: number): Entered {
      const work = workOf(caller);
      fill(work, rate, monotonicMs());
      const drops = Math.min(count, rate);
      const slots = Math.min(count, calls);
      const over = overRate(work, drops);
      if (over) return over;
      if (work.calls + slots > calls) return { why: `${calls} calls under way`, retryAfterSeconds: 1 };
      work.drops -= drops;
      work.calls += slots;
      return {
        leave() {
          work.calls -= slots;
        },
      };
    },

    enterStream(caller: string): Entered {
      const work = workOf(caller);
      if (work.streams >= MAX_STREAMS) return { why: `${MAX_STREAMS} streams open`, retryAfterSeconds: 10 };
      work.streams += 1;
      return {
        leave() {
          work.streams -= 1;
        },
      };
    },
  };
}
