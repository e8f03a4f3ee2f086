// Limits the calls per minute and the open streams of each caller, and all concurrent calls of one instance.
import { LRUCache } from "lru-cache";
import type { LimitExceeded } from "../tenancy/team-shares.ts";

export interface CallerLimits {
  /** Maximum calls per minute of one caller. */
  readonly rate: number;
  /** Maximum concurrent calls of all callers (default 256). */
  readonly allCalls?: number;
}

/** Maximum open streams of one caller: clients use one or two. */
const MAX_STREAMS = 32;
const MAX_CALLERS = 10_000;

interface Usage {
  /** A token bucket: it holds at most `rate` tokens, and gains `rate` tokens per minute. */
  tokens: number;
  filledAtMs: number;
  streams: number;
}

/** The work that one HTTP request asks for. */
export interface RequestedWork {
  /** Messages that count toward the rate: calls, and notifications other than cancellations. */
  readonly messages: number;
  readonly calls: number;
  readonly streams: number;
}

/** The `maxconn` of each server in deploy/haproxy/haproxy.cfg is the same. */
const MAX_ALL_CALLS = 256;

export function createCallerLimits(
  { rate, allCalls: maxAllCalls = MAX_ALL_CALLS }: CallerLimits,
  monotonicMs: () => number,
) {
  let allCalls = 0;
  /** A caller that is evicted from this cache starts again with all tokens. */
  const callers = new LRUCache<string, Usage>({ max: MAX_CALLERS });

  function usageOf(caller: string): Usage {
    const now = monotonicMs();
    const usage = callers.get(caller) ?? { tokens: rate, filledAtMs: now, streams: 0 };
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
      const slots = Math.min(calls, maxAllCalls);
      const exceeds = (why: string, retryAfterSeconds = 1): LimitExceeded => {
        return { reason: "rate_limited", why: `at most ${why} for each caller`, retryAfterSeconds };
      };
      if (usage.tokens < wanted) {
        const seconds = Math.ceil(((wanted - usage.tokens) / rate) * 60);
        return exceeds(`${rate} calls per minute`, Math.max(1, seconds));
      }
      if (usage.streams + streams > MAX_STREAMS) return exceeds(`${MAX_STREAMS} open streams`, 10);
      if (allCalls + slots > maxAllCalls) {
        const why = `at most ${maxAllCalls} concurrent calls in this instance`;
        return { reason: "instance_full", why, retryAfterSeconds: 1 };
      }
      usage.tokens -= wanted;
      usage.streams += streams;
      allCalls += slots;
      return {
        release() {
          allCalls -= slots;
          usage.streams -= streams;
        },
      };
    },
  };
}
