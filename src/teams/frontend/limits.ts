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

/** The work that one HTTP request asks for. */
export interface RequestedWork {
  /** Messages that count toward the rate: calls, and notifications other than cancellations. */
  readonly messages: number;
  readonly calls: number;
  readonly streams: number;
}

export function createCallerLimits({ rate, calls: maxCalls }: CallerLimits, monotonicMs: () => number) {
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

  return {
    /** Admits all work of one request, or none. A batch with more calls than a limit counts as that limit. */
    admit(
      caller: string,
      { messages, calls, streams }: RequestedWork,
    ): { readonly release: () => void } | LimitExceeded {
      const usage = usageOf(caller);
      const wanted = Math.min(messages, rate);
      const slots = Math.min(calls, maxCalls);
      if (usage.tokens < wanted)
        return {
          why: `at most ${rate} calls per minute for each caller`,
          retryAfterSeconds: Math.max(1, Math.ceil(((wanted - usage.tokens) / rate) * 60)),
        };
      if (usage.calls + slots > maxCalls)
        return { why: `at most ${maxCalls} concurrent calls for each caller`, retryAfterSeconds: 1 };
      if (usage.streams + streams > MAX_STREAMS)
        return { why: `at most ${MAX_STREAMS} open streams for each caller`, retryAfterSeconds: 10 };
      usage.tokens -= wanted;
      usage.calls += slots;
      usage.streams += streams;
      return {
        release() {
          usage.calls -= slots;
          usage.streams -= streams;
        },
      };
    },
  };
}
