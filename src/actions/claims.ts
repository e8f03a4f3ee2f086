// Claims: the actions that this process works on, and those whose owner no longer renews its lease.
import { BoundedMap } from "../core/bounded-map.ts";
import type { StoredAction } from "./store/stored.ts";

/** A claim is given up if its lease has not been renewed for this time: three heartbeats. */
export const LEASE_MS = 30_000;
const HEARTBEAT_MS = LEASE_MS / 3;

/** Actions of other processes that are remembered. */
const MAX_WATCHED = 1_000;

const nameOf = ({ service, key }: Pick<StoredAction, "service" | "key">): string => JSON.stringify([service, key]);

/** The actions in flight in this process, for all callers: one heartbeat for all of them, and none while there are none. */
export function createInFlight(heartbeat: () => Promise<unknown>) {
  const names = new Set<string>();
  let beat: NodeJS.Timeout | undefined;
  return {
    has: (action: Pick<StoredAction, "service" | "key">): boolean => names.has(nameOf(action)),
    /** Takes an action with `take`, and works on it if it could be taken. `onTrouble` receives why a heartbeat failed. */
    async work<T>(
      action: Pick<StoredAction, "service" | "key">,
      take: () => Promise<StoredAction | undefined>,
      work: (taken: StoredAction) => Promise<T>,
      onTrouble: (error: unknown) => void,
    ): Promise<T | undefined> {
      const name = nameOf(action);
      names.add(name);
      try {
        const taken = await take();
        if (!taken) return undefined;
        beat ??= setInterval(() => {
          if (names.size > 0) return void heartbeat().catch(onTrouble);
          clearInterval(beat);
          beat = undefined;
        }, HEARTBEAT_MS).unref();
        return await work(taken);
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
export function createLeases(monotonicMs: () => number) {
  const watched = new BoundedMap<string, { readonly lease: string; readonly sinceMs: number }>(MAX_WATCHED);
  return {
    /** Certain that its owner has not renewed it for LEASE_MS. False at the first look. */
    isExpired(stored: StoredAction): boolean {
      const name = nameOf(stored);
      const lease = JSON.stringify([stored.owner, stored.lease_until]);
      const seen = watched.get(name);
      if (seen?.lease === lease) return monotonicMs() - seen.sinceMs >= LEASE_MS;
      watched.set(name, { lease, sinceMs: monotonicMs() });
      return false;
    },
  };
}
