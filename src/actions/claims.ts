// This module tracks the claims of this process, and detects owners that no longer renew their leases.
import { BoundedMap } from "../core/bounded-map.ts";
import type { StoredAction } from "./action-row.ts";

/** A claim expires if its lease is not renewed for this time (three heartbeats). */
export const LEASE_MS = 30_000;
const HEARTBEAT_MS = LEASE_MS / 3;

/** Maximum number of actions of other processes whose leases are watched. */
const MAX_WATCHED = 1_000;

export const actionId = ({ service, key }: Pick<StoredAction, "service" | "key">): string =>
  JSON.stringify([service, key]);

/** Returns a function that starts to repeat `work`, unless it is repeated already. It ends when there is nothing to do. */
function createRepetition(hasWork: () => boolean, intervalMs: number, work: () => Promise<unknown>) {
  let timer: NodeJS.Timeout | undefined;
  return (onError: (error: unknown) => void): void => {
    timer ??= setInterval(() => {
      if (hasWork()) return void work().catch(onError);
      clearInterval(timer);
      timer = undefined;
    }, intervalMs).unref();
  };
}

/** Tracks the actions in flight in this process, for all callers. One timer renews all their leases, and stops when there are none. */
export function createInFlightActions(heartbeat: () => Promise<unknown>) {
  const names = new Set<string>();
  const startHeartbeats = createRepetition(() => names.size > 0, HEARTBEAT_MS, heartbeat);
  return {
    has: (action: Pick<StoredAction, "service" | "key">): boolean => names.has(actionId(action)),
    /** Call this before an action is claimed. Its lease is renewed until `end`; `onError` receives the errors of heartbeats. */
    begin(action: Pick<StoredAction, "service" | "key">, onError: (error: unknown) => void): void {
      names.add(actionId(action));
      startHeartbeats(onError);
    },
    /** Call this when this process no longer works on the action. */
    end: (action: Pick<StoredAction, "service" | "key">): void => void names.delete(actionId(action)),
  };
}

/** Maximum number of lost claims that are remembered. A forgotten one stays unresolved. */
const MAX_LOST = 10_000;
const WITHDRAW_INTERVAL_MS = 30_000;
/** A row that was not changed for this time, which is longer than any call, is not being sent. */
export const LOST_AFTER_MS = 120_000;

/**
 * Tracks claims whose answer was lost. This process sent nothing, but the row may appear later, such as when a commit that waits for a
 * replica is done. `withdraw` ends such rows, and is repeated while there may be some.
 */
export function createLostClaims(withdraw: () => Promise<void>) {
  const lost = new BoundedMap<string, true>(MAX_LOST);
  const startWithdrawals = createRepetition(() => lost.size > 0, WITHDRAW_INTERVAL_MS, withdraw);
  return {
    has: (action: Pick<StoredAction, "service" | "key">): boolean => lost.get(actionId(action)) === true,
    add(action: Pick<StoredAction, "service" | "key">): void {
      lost.set(actionId(action), true);
      // While the database is not available, the next attempt follows.
      startWithdrawals(() => undefined);
    },
    /** Call this when the action is claimed, because it is sent then. */
    remove: (action: Pick<StoredAction, "service" | "key">): void => void lost.delete(actionId(action)),
  };
}

/** Maximum number of outcomes that wait to be recorded. */
const MAX_LATE = 10_000;
const LATE_RETRY_MS = 2_000;

/** Repeats writes of outcomes that failed, until they succeed: the database may be available again while this process runs. */
export function createLateWrites() {
  const late = new BoundedMap<string, () => Promise<unknown>>(MAX_LATE);
  let timer: NodeJS.Timeout | undefined;

  async function repeat(): Promise<void> {
    for (const [name, write] of [...late.entries()])
      try {
        await write();
        if (late.get(name) === write) late.delete(name);
      } catch {
        // The database is still not available, so the other writes would fail as well.
        break;
      }
    timer = undefined;
    schedule();
  }
  function schedule(): void {
    if (late.size > 0 && timer === undefined) timer = setTimeout(repeat, LATE_RETRY_MS).unref();
  }

  return {
    add(action: Pick<StoredAction, "service" | "key">, write: () => Promise<unknown>): void {
      late.set(actionId(action), write);
      schedule();
    },
    /** Call this when the action is sent again: its next outcome counts. */
    remove: (action: Pick<StoredAction, "service" | "key">): void => void late.delete(actionId(action)),
  };
}

/**
 * Detects owners that no longer renew their leases. The clocks of two machines may differ by hours, so the end of a lease is never compared
 * with the current time. Instead, a lease is expired if this process has seen no change for LEASE_MS.
 */
export function createLeaseMonitor(monotonicMs: () => number) {
  const watched = new BoundedMap<string, { readonly lease: string; readonly sinceMs: number }>(MAX_WATCHED);
  return {
    /** True if the owner has certainly not renewed its lease for LEASE_MS. False at the first check of a lease. */
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
