// Caches one runtime for each caller and OAuth client in a team: it is created at the first call, and dropped when the team changes.
import { LRUCache } from "lru-cache";
import type { Caller } from "../caller.ts";
import { type Member, type Membership, TEAM_NAME, type Team, type Teams } from "./teams.ts";

/** Why a caller has no team at a path: they are in no team, in several teams if the path names none, or not in the team that it names. */
export type NoTeamReason =
  | ({ readonly why: "in none" } & Partial<Member>)
  | { readonly why: "in several"; readonly names: readonly string[] }
  | ({ readonly why: "not in it"; readonly name: string } & Member);

/** The properties of a caller that a runtime depends on. All other properties may change with the next call. */
export interface RuntimeCaller extends Member {
  /** See `Caller` in ../caller.ts. */
  readonly id: string;
  /** The OAuth client that sent the call. */
  readonly clientId: string;
  /** The claim value of the team, if the caller is a member because of it; otherwise empty. */
  readonly groups: readonly string[];
}

/** The properties of a caller that their memberships depend on. */
export type CallerClaims = Pick<Caller, "id" | "issuer" | "subject" | "groups">;

/** Creates the parts of a team (`P`) and the runtimes of callers (`R`). */
export interface RuntimeFactory<P, R> {
  openTeam(team: Team): P;
  /** Called when the team was removed: its parts must refuse all calls from now on. */
  revokeTeam(parts: P): void;
  createTeamRuntime(parts: P, caller: RuntimeCaller): R;
  createRuntimeWithoutTeam(caller: RuntimeCaller, why: NoTeamReason): R;
}

interface Options<P, R> {
  readonly teams: Pick<Teams, "find" | "findByCaller">;
  readonly now: () => number;
  /** Maximum number of teams whose parts are cached. */
  readonly maxTeams: number;
  readonly factory: RuntimeFactory<P, R>;
}

/** A notice announces a change immediately; this limit is for an instance that missed the notice. */
const MEMBERSHIP_CACHE_MS = 30_000;
const MAX_MEMBERSHIPS = 10_000;
/** Maximum number of cached runtimes, with about 50 KB each. */
const MAX_RUNTIMES = 2_000;

interface CachedTeam<P> {
  readonly loading: Promise<{ readonly parts: P; readonly changedAt: number } | undefined>;
  /** Set when the team was loaded. */
  parts?: P;
}

export function createRuntimes<P, R>({ teams, now, maxTeams, factory }: Options<P, R>) {
  const membershipCache = new LRUCache<string, Promise<readonly Membership[]>>({
    max: MAX_MEMBERSHIPS,
    ttl: MEMBERSHIP_CACHE_MS,
    ttlResolution: 0,
    perf: { now },
  });
  const teamCache = new LRUCache<string, CachedTeam<P>>({ max: maxTeams });
  const runtimes = new LRUCache<string, { readonly parts: P | undefined; readonly runtime: R }>({ max: MAX_RUNTIMES });

  const retiredListeners = new Set<(runtime: R) => void>();

  /** Rejects with the errors of the database; the next call tries again. */
  function findMemberships(caller: CallerClaims): Promise<readonly Membership[]> {
    const name = JSON.stringify([caller.id, caller.groups]);
    const cached = membershipCache.get(name);
    if (cached) return cached;
    const pendingMemberships = teams.findByCaller(caller, caller.groups);
    membershipCache.set(name, pendingMemberships);
    pendingMemberships.catch(() => membershipCache.get(name) === pendingMemberships && membershipCache.delete(name));
    return pendingMemberships;
  }

  function loadTeam(name: string): CachedTeam<P> {
    const loading = teams.find(name).then((team) => {
      if (!team) return undefined;
      entry.parts = factory.openTeam(team);
      return { parts: entry.parts, changedAt: team.changedAt };
    });
    const entry: CachedTeam<P> = { loading };
    return entry;
  }

  async function loadParts({ name, changedAt }: Pick<Membership, "name" | "changedAt">): Promise<P | undefined> {
    const team = teamCache.get(name) ?? loadTeam(name);
    teamCache.set(name, team);
    const evict = () => teamCache.get(name) === team && teamCache.delete(name);
    const found = await team.loading.catch((error: unknown) => {
      evict();
      throw error;
    });
    if (found && found.changedAt >= changedAt) return found.parts;
    // The team was changed or added again since it was loaded, and the notice was missed.
    evict();
    return found && (await loadParts({ name, changedAt }));
  }

  /** `key`: the value on which the runtime depends, in addition to the caller. */
  function getOrCreateRuntime(caller: RuntimeCaller, key: unknown, parts: P | undefined, create: () => R): R {
    const name = JSON.stringify([caller.id, caller.clientId, key]);
    const known = runtimes.get(name);
    if (known && known.parts === parts) return known.runtime;
    const runtime = create();
    runtimes.set(name, { parts, runtime });
    return runtime;
  }

  function getRuntimeWithoutTeam(
    { id, clientId, issuer, subject }: Omit<RuntimeCaller, "groups">,
    why: NoTeamReason,
  ): R {
    const caller = { id, clientId, issuer, subject, groups: [] };
    return getOrCreateRuntime(caller, why, undefined, () => factory.createRuntimeWithoutTeam(caller, why));
  }

  function getTeamRuntime(
    { id, clientId, issuer, subject }: Omit<RuntimeCaller, "groups">,
    team: Membership,
    parts: P,
  ): R {
    const caller = { id, clientId, issuer, subject, groups: team.claim === undefined ? [] : [team.claim] };
    return getOrCreateRuntime(caller, [team.name, caller.groups], parts, () =>
      factory.createTeamRuntime(parts, caller),
    );
  }

  return {
    /**
     * Returns the runtime of this caller at the path without a team, or at the path of `team`: the same object while nothing has changed.
     * Undefined if the name is invalid. Only members can learn whether a team exists. Rejects with the errors of the database.
     */
    async get(caller: Caller, team: string | undefined): Promise<R | undefined> {
      if (team !== undefined && !TEAM_NAME.test(team)) return undefined;
      const callerMemberships = await findMemberships(caller);
      const [only, ...more] =
        team === undefined ? callerMemberships : callerMemberships.filter(({ name }) => name === team);
      const { issuer, subject } = caller;
      if (more.length > 0)
        return getRuntimeWithoutTeam(caller, { why: "in several", names: callerMemberships.map(({ name }) => name) });
      const parts = only && (await loadParts(only));
      if (only && parts !== undefined) return getTeamRuntime(caller, only, parts);
      return getRuntimeWithoutTeam(
        caller,
        team === undefined ? { why: "in none", issuer, subject } : { why: "not in it", name: team, issuer, subject },
      );
    },

    /**
     * Returns the runtime for a link that was made for this caller in a team, or in no team. Undefined if the caller is not a member now,
     * or the team does not exist. Rejects with the errors of the database.
     */
    async getForLink(caller: CallerClaims, team: string | undefined): Promise<R | undefined> {
      const linked = { ...caller, clientId: "" };
      if (team === undefined) return getRuntimeWithoutTeam(linked, { why: "in none" });
      const membership = (await findMemberships(caller)).find(({ name }) => name === team);
      const parts = membership && (await loadParts(membership));
      return parts && getTeamRuntime(linked, membership, parts);
    },

    /** Call this when a team has changed. Calls in flight continue with its old parts, unless the team was removed. */
    async invalidateTeam(name: string): Promise<void> {
      const before = teamCache.get(name);
      teamCache.delete(name);
      membershipCache.clear();
      const old = await before?.loading.catch(() => undefined);
      if (!old) return;
      for (const [key, { parts, runtime }] of [...runtimes.entries()]) {
        if (parts !== old.parts) continue;
        runtimes.delete(key);
        for (const listener of retiredListeners) listener(runtime);
      }
      if (!(await teams.find(name))) factory.revokeTeam(old.parts);
    },

    /** Calls `listener` with each runtime that is not used for new requests any more, because its team has changed. */
    onRetired: (listener: (runtime: R) => void) => void retiredListeners.add(listener),

    getCachedTeams: (): readonly P[] =>
      [...teamCache.values()].flatMap(({ parts }) => (parts === undefined ? [] : [parts])),
  };
}
