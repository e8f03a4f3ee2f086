// Limits of one caller at one instance, to protect the instance: calls in a minute, calls at the same time, and open streams.
import { LRUCache } from "lru-cache";

export interface CallerLimits {
  /** Calls in a minute. */
  readonly rate: number;
  /** Calls at the same time. */
  readonly calls: number;
}

/** Open streams of one caller: clients use one or two. */
const MAX_STREAMS = 32;
const MAX_CALLERS = 10_000;

interface Usage {
  /** A token bucket: it holds `rate` tokens at most, and gains as many in a minute. */
  tokens: number;
  filledAtMs: number;
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
  /** A caller that is dropped from here starts again with all tokens. */
  const callers = new LRUCache<string, Usage>({ max: MAX_CALLERS });

  function usageOf(caller: string): Usage {
    const now = monotonicMs();
    const usage = callers.get(caller) ?? { tokens: rate, filledAtMs: now, calls: 0, streams: 0 };
    callers.set(caller, usage);
    usage.tokens = Math.min(rate, usage.tokens + ((now - usage.filledAtMs) / 60_000) * rate);
    usage.filledAtMs = now;
    return usage;
  }

  /** Adds to what is in flight, until `leave`. */
  function enter(usage: Usage, kind: "calls" | "streams", count: number): Entered {
    usage[kind] += count;
    return {
      leave() {
        usage[kind] -= count;
      },
    };
  }

  const overRate = ({ tokens }: Usage, wanted: number): Over | undefined =>
    tokens < wanted
      ? {
          why: `made ${rate} calls within a minute`,
          retryAfterSeconds: Math.max(1, Math.ceil(((wanted - tokens) / rate) * 60)),
        }
      : undefined;

  return {
    /** Counts messages that are done at once, such as notifications. Undefined if they are within the rate. */
    count(caller: string, count: number): Over | undefined {
      const usage = usageOf(caller);
      const wanted = Math.min(count, rate);
      const over = overRate(usage, wanted);
      if (!over) usage.tokens -= wanted;
      return over;
    },

    /** The calls of one request begin together or not at all. A batch that exceeds a limit counts as the limit. */
    enterCalls(caller: string, count: number): Entered {
      const usage = usageOf(caller);
      const wanted = Math.min(count, rate);
      const slots = Math.min(count, calls);
      const over = overRate(usage, wanted);
      if (over) return over;
      if (usage.calls + slots > calls) return { why: `${calls} calls under way`, retryAfterSeconds: 1 };
      usage.tokens -= wanted;
      return enter(usage, "calls", slots);
    },

    enterStream(caller: string): Entered {
      const usage = usageOf(caller);
      if (usage.streams >= MAX_STREAMS) return { why: `${MAX_STREAMS} streams open`, retryAfterSeconds: 10 };
      return enter(usage, "streams", 1);
    },
  };
}
