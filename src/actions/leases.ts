// Whether the owner of an action still gives signs of life. Clocks of two machines may differ by hours, so what is judged is
// not when a lease ends but whether it moves, by this process's own time.
import { BoundedMap } from "../bounded-map.ts";
import type { StoredAction } from "./journal.ts";

/** A claim whose lease has not moved for so long is given up: three heartbeats. */
export const LEASE_MS = 30_000;

/** Actions of others that are kept in mind. */
const MAX_WATCHED = 1_000;

export function createLeases(monotonicMs: () => number) {
  const watched = new BoundedMap<string, { readonly lease: string; readonly sinceMs: number }>(MAX_WATCHED);
  return {
    /** Certain that its owner has not renewed it for LEASE_MS. False at the first look. */
    standsStill({ service, key, owner, lease_until }: StoredAction): boolean {
      const name = JSON.stringify([service, key]);
      const lease = JSON.stringify([owner, lease_until]);
      const seen = watched.get(name);
      if (seen?.lease === lease) return monotonicMs() - seen.sinceMs >= LEASE_MS;
      watched.set(name, { lease, sinceMs: monotonicMs() });
      return false;
    },
  };
}
