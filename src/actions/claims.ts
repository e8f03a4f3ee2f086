// Claims: the actions that this process works on, and those whose owner no longer renews its lease.
import { BoundedMap } from "../core/bounded-map.ts";
import type { StoredAction } from "./store/action-row.ts";

/** A claim is given up if its lease has not been renewed for this time: three heartbeats. */
export const LEASE_MS = 30_000;
const HEARTBEAT_MS = LEASE_MS / 3;

/** Actions of other processes that are remembered. */
const MAX_WATCHED = 1_000;

const actionId = ({ service, key }: Pick<StoredAction, "service" | "key">): string => JSON.stringify([service, key]);

/** The actions in flight in this process, for all callers: one heartbeat for all of them, and none while there are none. */
export function createInFlightActions(heartbeat: () => Promise<unknown>) {
  const names = new Set<string>();
  let heartbeatTimer: NodeJS.Timeout | undefined;
  return {
    has: (action: Pick<StoredAction, "service" | "key">): boolean => names.has(actionId(action)),
    /** Takes an action with `take`, and works on it if it could be taken. `onTrouble` receives why a heartbeat failed. */
    async claimAndRun<T>(
      action: Pick<StoredAction, "service" | "key">,
      claim: () => Promise<StoredAction | undefined>,
      run: (claimed: StoredAction) => Promise<T>,
      onError: (error: unknown) => void,
    ): Promise<T | undefined> {
      const name = actionId(action);
      names.add(name);
      try {
        const claimed = await claim();
        if (!claimed) return undefined;
        heartbeatTimer ??= setInterval(() => {
          if (names.size > 0) return void heartbeat().catch(onError);
          clearInterval(heartbeatTimer);
          heartbeatTimer = undefined;
        }, HEARTBEAT_MS).unref();
        return await run(claimed);
      } finally {
        names.delete(name);
      }
    },
  };
}

/**
 * Judges whether owners still renew their leases. Clocks of two machines may differ by hours, so what counts is not when a lease ends but
 * whether it moves, by this process's own time.
 */
export function createLeaseMonitor(monotonicMs: () => number) {
  const watched = new BoundedMap<string, { readonly lease: string; readonly sinceMs: number }>(MAX_WATCHED);
  return {
    /** Certain that its owner has not renewed it for LEASE_MS. False at the first look. */
    isExpired(stored: StoredAction): boolean {
      const name = actionId(stored);
      const lease = JSON.stringify([stored.owner, stored.lease_until]);
      const seen = watched.get(name);
      if (seen?.lease === lease) return monotonicMs() - seen.sinceMs >= LEASE_MS;
      watched.set(name, { lease, sinceMs: monotonicMs() });
      return false;
    },
  };
}
