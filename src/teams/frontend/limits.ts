// Limits the calls per minute, the concurrent calls and the open streams of each caller, to protect one instance.
import { LRUCache } from "lru-cache";

export interface CallerLimits {
  readonly rate: number;
  readonly calls: number;
}

/** Maximum open streams of one caller: clients use one or two. */
const MAX_STREAMS = 32;
const MAX_CALLERS = 10_000;

interface Usage {
  /** A token bucket: it holds at most `rate` tokens, and gains `rate` tokens per minute. */
  tokens: number;
  filledAtMs: number;
  calls: number;
  streams: number;
}

/** `why` completes "This caller has ...". */
export interface LimitExceeded {
  readonly why: string;
  readonly retryAfterSeconds: number;
}
export type AcquireResult = { readonly release: () => void } | LimitExceeded;

export function createCallerLimits({ rate, calls }: CallerLimits, monotonicMs: () => number) {
  /** A caller that is evicted from this cache starts again with all tokens. */
  const callers = new LRUCache<string, Usage>({ max: MAX_CALLERS });

  function usageOf(caller: string): Usage {
    const now = monotonicMs();
    const usage = callers.get(caller) ?? { tokens: rate, filledAtMs: now, calls: 0, streams: 0 };
    callers.set(caller, usage);
    usage.tokens = Math.min(rate, usage.tokens + ((now - usage.filledAtMs) / 60_000) * rate);
    usage.filledAtMs = now;
    return usage;
  }

  function acquire(usage: Usage, kind: "calls" | "streams", count: number): AcquireResult {
    usage[kind] += count;
    return {
      release() {
        usage[kind] -= count;
      },
    };
  }

  const checkRate = ({ tokens }: Usage, wanted: number): LimitExceeded | undefined =>
    tokens < wanted
      ? {
          why: `at most ${rate} calls per minute for each caller`,
          retryAfterSeconds: Math.max(1, Math.ceil(((wanted - tokens) / rate) * 60)),
        }
      : undefined;

  return {
    /** Counts messages that occupy no slot, such as notifications. Undefined if they are within the rate. */
    countMessages(caller: string, count: number): LimitExceeded | undefined {
      const usage = usageOf(caller);
      const wanted = Math.min(count, rate);
      const exceeded = checkRate(usage, wanted);
      if (!exceeded) usage.tokens -= wanted;
      return exceeded;
    },

    /** Acquires slots for all calls of one request, or for none. A batch with more calls than a limit counts as that limit. */
    acquireCalls(caller: string, count: number): AcquireResult {
      const usage = usageOf(caller);
      const wanted = Math.min(count, rate);
      const slots = Math.min(count, calls);
      const exceeded = checkRate(usage, wanted);
      if (exceeded) return exceeded;
      if (usage.calls + slots > calls)
        return { why: `at most ${calls} concurrent calls for each caller`, retryAfterSeconds: 1 };
      usage.tokens -= wanted;
      return acquire(usage, "calls", slots);
    },

    acquireStream(caller: string): AcquireResult {
      const usage = usageOf(caller);
      if (usage.streams >= MAX_STREAMS)
        return { why: `at most ${MAX_STREAMS} open streams for each caller`, retryAfterSeconds: 10 };
      return acquire(usage, "streams", 1);
    },
  };
}
