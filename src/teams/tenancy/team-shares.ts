// Divides the calls that run in one instance between the teams, so that a busy team does not slow down the others.
import { AsyncLocalStorage } from "node:async_hooks";

export interface LimitExceeded {
  readonly reason: "rate_limited" | "team_limited" | "instance_full";
  /** The limit, such as "at most 120 calls per minute for each caller". */
  readonly why: string;
  readonly retryAfterSeconds: number;
}

export interface TeamShareLimits {
  /** Running calls of all teams together (default 8), of which each team that has calls gets an equal share. */
  readonly running: number;
  /** The smallest share of a team (default 2). */
  readonly smallest: number;
  /** Waiting calls of a team (default 64), and the longest time that a call waits (default 5 s). */
  readonly waiting: number;
  readonly waitMs: number;
  /** A call counts as running for this time (default 2 s), because a longer one waits for a job. */
  readonly runMs: number;
}

const SHARES: TeamShareLimits = { running: 8, smallest: 2, waiting: 64, waitMs: 5_000, runMs: 2_000 };

interface TeamUsage {
  running: number;
  /** Calls that continue after a wait for the API, and calls that have not begun, the oldest first. */
  readonly continuing: Set<() => void>;
  readonly waiting: Set<() => void>;
}

interface Slot {
  /** Does not count the call while `wait` runs. */
  pauseFor<T>(wait: () => Promise<T>): Promise<T>;
  release(): void;
}

/** The slot of the current call, from the time that it runs. */
const currentSlot = new AsyncLocalStorage<{ slot?: Slot }>();

/** Runs the wait of a call for the API: meanwhile, it needs no CPU time and does not count toward the share of its team. */
export function pauseSlotFor<T>(wait: () => Promise<T>): Promise<T> {
  const slot = currentSlot.getStore()?.slot;
  return slot ? slot.pauseFor(wait) : wait();
}

/** Divides the calls that run in an instance between the teams. A call beyond the share of its team waits. */
export function createTeamShares(limits: Partial<TeamShareLimits> = {}) {
  const { running: all, smallest, waiting: maxWaiting, waitMs, runMs } = { ...SHARES, ...limits };
  const teams = new Map<string, TeamUsage>();
  const share = (): number => Math.max(smallest, Math.floor(all / teams.size));

  function usageOf(team: string): TeamUsage {
    const usage = teams.get(team) ?? { running: 0, continuing: new Set(), waiting: new Set() };
    teams.set(team, usage);
    return usage;
  }

  /** Starts at most one call of each team in each turn of the event loop, so that requests of other teams are read in between. */
  function startNext(): void {
    isScheduled = false;
    for (const [name, usage] of teams) {
      const queue = usage.continuing.size > 0 ? usage.continuing : usage.waiting;
      const [start] = usage.running < share() ? queue : [];
      if (start) {
        queue.delete(start);
        start();
        schedule();
      } else if (usage.running + usage.continuing.size + usage.waiting.size === 0) teams.delete(name);
    }
  }
  let isScheduled = false;
  function schedule(): void {
    if (!isScheduled) setImmediate(startNext);
    isScheduled = true;
  }

  function run(team: string): Slot {
    let hasEnded = false;
    let pauses = 0;
    const count = (change: 1 | -1): void => {
      usageOf(team).running += change;
      if (change < 0) schedule();
    };
    const release = (): void => {
      clearTimeout(timer);
      if (!hasEnded && pauses === 0) count(-1);
      hasEnded = true;
    };
    const timer = setTimeout(release, runMs).unref();
    count(1);
    return {
      release,
      async pauseFor(wait) {
        pauses += 1;
        if (!hasEnded && pauses === 1) count(-1);
        try {
          return await wait();
        } finally {
          if (!hasEnded && pauses === 1)
            await new Promise<void>((resolve) => {
              usageOf(team).continuing.add(resolve);
              schedule();
            });
          pauses -= 1;
          if (!hasEnded && pauses === 0) count(1);
        }
      },
    };
  }

  return {
    /** Runs a request. `enter` records the slot of its call for `pauseSlotFor`. */
    runRequest: <T>(serve: () => T): T => currentSlot.run({}, serve),

    /** Resolves when a call of this team may run. `signal`: the client has disconnected, so the call does not run. */
    async enter(team: string, signal: AbortSignal): Promise<Slot | LimitExceeded> {
      const request = currentSlot.getStore() ?? {};
      const { running, waiting } = usageOf(team);
      if (running < share()) {
        request.slot = run(team);
        return request.slot;
      }
      const exceeded: LimitExceeded = {
        reason: "team_limited",
        why: `at most ${share()} running and ${maxWaiting} waiting calls of the team ${team} in this instance`,
        retryAfterSeconds: 1,
      };
      if (waiting.size >= maxWaiting) return exceeded;
      return await new Promise((resolve) => {
        const start = (): void => {
          request.slot = run(team);
          finish(request.slot);
        };
        const giveUp = (): void => finish(exceeded);
        function finish(result: Slot | LimitExceeded): void {
          clearTimeout(timer);
          signal.removeEventListener("abort", giveUp);
          waiting.delete(start);
          resolve(result);
        }
        const timer = setTimeout(giveUp, waitMs).unref();
        signal.addEventListener("abort", giveUp, { once: true });
        waiting.add(start);
      });
    },
  };
}
