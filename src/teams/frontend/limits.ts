// Protects one instance: it limits the calls per minute, the concurrent calls and the open streams of each caller, limits all concurrent
// calls, and divides the calls that run between the teams, so that a busy team does not slow down the others.
import { LRUCache } from "lru-cache";

export interface CallerLimits {
  readonly rate: number;
  readonly calls: number;
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
  calls: number;
  streams: number;
}

export interface LimitExceeded {
  readonly reason: "rate_limited" | "team_limited" | "instance_full";
  /** The limit, such as "at most 8 concurrent calls for each caller". */
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

/** The `maxconn` of each server in deploy/haproxy/haproxy.cfg is the same. */
const MAX_ALL_CALLS = 256;

export function createCallerLimits(
  { rate, calls: maxCalls, allCalls: maxAllCalls = MAX_ALL_CALLS }: CallerLimits,
  monotonicMs: () => number,
) {
  let allCalls = 0;
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
          reason: "rate_limited",
          why: `at most ${rate} calls per minute for each caller`,
          retryAfterSeconds: Math.max(1, Math.ceil(((wanted - usage.tokens) / rate) * 60)),
        };
      if (usage.calls + slots > maxCalls)
        return {
          reason: "rate_limited",
          why: `at most ${maxCalls} concurrent calls for each caller`,
          retryAfterSeconds: 1,
        };
      if (usage.streams + streams > MAX_STREAMS)
        return {
          reason: "rate_limited",
          why: `at most ${MAX_STREAMS} open streams for each caller`,
          retryAfterSeconds: 10,
        };
      if (allCalls + slots > maxAllCalls)
        return {
          reason: "instance_full",
          why: `at most ${maxAllCalls} concurrent calls in this instance`,
          retryAfterSeconds: 1,
        };
      usage.tokens -= wanted;
      usage.calls += slots;
      usage.streams += streams;
      allCalls += slots;
      return {
        release() {
          allCalls -= slots;
          usage.calls -= slots;
          usage.streams -= streams;
        },
      };
    },
  };
}

export interface TeamShareLimits {
  /** Running calls of all teams together (default 16), of which each team that has calls gets an equal share. */
  readonly running: number;
  /** The smallest share of a team (default 4). */
  readonly smallest: number;
  /** Waiting calls of a team (default 64), and the longest time that a call waits (default 5 s). */
  readonly waiting: number;
  readonly waitMs: number;
  /** A call counts as running for this time (default 2 s): a longer one waits for a job or the API, and needs no CPU time. */
  readonly runMs: number;
}

const SHARES: TeamShareLimits = { running: 16, smallest: 4, waiting: 64, waitMs: 5_000, runMs: 2_000 };

interface TeamUsage {
  running: number;
  /** Starts each waiting call, the oldest first. */
  readonly waiting: Set<() => void>;
}

/** Divides the calls that run in an instance between the teams. A call beyond the share of its team waits. */
export function createTeamShares(limits: Partial<TeamShareLimits> = {}) {
  const { running: all, smallest, waiting: maxWaiting, waitMs, runMs } = { ...SHARES, ...limits };
  const teams = new Map<string, TeamUsage>();
  const share = (): number => Math.max(smallest, Math.floor(all / teams.size));

  function startWaiting(): void {
    for (const [name, usage] of teams) {
      for (const start of usage.waiting) {
        if (usage.running >= share()) break;
        usage.waiting.delete(start);
        start();
      }
      if (usage.running === 0 && usage.waiting.size === 0) teams.delete(name);
    }
  }

  function run(usage: TeamUsage): { readonly release: () => void } {
    usage.running += 1;
    let isRunning = true;
    function release(): void {
      clearTimeout(timer);
      if (!isRunning) return;
      isRunning = false;
      usage.running -= 1;
      startWaiting();
    }
    const timer = setTimeout(release, runMs).unref();
    return { release };
  }

  return {
    /** Resolves when a call of this team may run. `signal`: the client has disconnected, so the call does not run. */
    async enter(team: string, signal: AbortSignal): Promise<{ readonly release: () => void } | LimitExceeded> {
      const usage = teams.get(team) ?? { running: 0, waiting: new Set<() => void>() };
      teams.set(team, usage);
      if (usage.running < share()) return run(usage);
      const exceeded: LimitExceeded = {
        reason: "team_limited",
        why: `at most ${share()} running and ${maxWaiting} waiting calls of the team ${team} in this instance`,
        retryAfterSeconds: 1,
      };
      if (usage.waiting.size >= maxWaiting) return exceeded;
      return await new Promise((resolve) => {
        const start = (): void => finish(run(usage));
        const giveUp = (): void => finish(exceeded);
        function finish(result: { readonly release: () => void } | LimitExceeded): void {
          clearTimeout(timer);
          signal.removeEventListener("abort", giveUp);
          usage.waiting.delete(start);
          resolve(result);
        }
        const timer = setTimeout(giveUp, waitMs).unref();
        signal.addEventListener("abort", giveUp, { once: true });
        usage.waiting.add(start);
      });
    },
  };
}
