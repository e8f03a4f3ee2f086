// Caches one runtime for each caller and OAuth client in a team: it is created at the first call, and dropped when the team changes.
import { isDeepStrictEqual } from "node:util";
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
  readonly id: string;
  /** The OAuth client that sent the call. */
  readonly clientId: string;
  /** The claim value of the team, if the caller is a member because of it; otherwise empty. */
  readonly groups: readonly string[];
}

/** The properties of a caller that their memberships depend on. */
export type CallerClaims = Pick<Caller, "id" | "issuer" | "subject" | "groups">;

interface TeamParts {
  /** Called when the team was removed: its parts must refuse all calls from now on. */
  revoke(): void;
}

/** `P`: the parts of a team. `R`: the runtime of a caller. */
interface Options<P, R> {
  readonly teams: Pick<Teams, "find" | "findByCaller" | "readVersions">;
  readonly now: () => number;
  openTeam(team: Team): P;
  /** Opens the API connection of a caller without a team. */
  openWithoutTeam(reason: NoTeamReason): P;
  createRuntime(parts: P, caller: RuntimeCaller): R;
}

/** Changes are detected earlier by `refresh`; this limit applies while the database cannot be read. */
const MEMBERSHIP_CACHE_MS = 30_000;
const MAX_MEMBERSHIPS = 10_000;
/** Maximum number of teams whose parts are cached. */
const MAX_TEAMS = 500;
/** Maximum number of cached runtimes, with about 50 KB each. */
const MAX_RUNTIMES = 2_000;

interface OpenedTeam<P> {
  readonly name: string;
  readonly changedAt: number;
  readonly parts: P;
}

export function createRuntimes<P extends TeamParts, R>({ teams, now, ...factory }: Options<P, R>) {
  // A read that fails is not cached. A read that began before its entry was removed is returned, but not cached.
  const memberships = new LRUCache<string, readonly Membership[], CallerClaims>({
    max: MAX_MEMBERSHIPS,
    ttl: MEMBERSHIP_CACHE_MS,
    ttlResolution: 0,
    perf: { now },
    ignoreFetchAbort: true,
    fetchMethod: (_key, _stale, { context: caller }) => teams.findByCaller(caller, caller.groups),
  });
  const openedTeams = new LRUCache<string, OpenedTeam<P>>({
    max: MAX_TEAMS,
    ignoreFetchAbort: true,
    async fetchMethod(name) {
      const team = await teams.find(name);
      return team && { name, changedAt: team.changedAt, parts: factory.openTeam(team) };
    },
  });
  /** `team` is undefined for a caller without a team. */
  const runtimes = new LRUCache<string, { readonly team: OpenedTeam<P> | undefined; readonly runtime: R }>({
    max: MAX_RUNTIMES,
  });
  let versions: ReadonlyMap<string, number> = new Map();
  const retiredListeners = new Set<(runtime: R) => void>();

  /** Rejects with the errors of the database; the next call tries again. */
  const findMemberships = (caller: CallerClaims): Promise<readonly Membership[]> =>
    memberships.forceFetch(JSON.stringify([caller.id, caller.groups]), { context: caller });

  async function openTeam({ name, changedAt }: Membership): Promise<OpenedTeam<P> | undefined> {
    const team = await openedTeams.fetch(name);
    // The team may have changed after it was opened.
    return team && team.changedAt < changedAt ? await openedTeams.fetch(name, { forceRefresh: true }) : team;
  }

  /** `key`: the values on which the runtime depends, in addition to the caller and the parts of the team. */
  function getOrCreateRuntime(
    { id, clientId, issuer, subject }: Member & Pick<RuntimeCaller, "id" | "clientId">,
    groups: readonly string[],
    key: unknown,
    team: OpenedTeam<P> | undefined,
    openParts: () => P,
  ): R {
    const name = JSON.stringify([id, clientId, groups, key]);
    const known = runtimes.get(name);
    if (known && known.team === team) return known.runtime;
    const runtime = factory.createRuntime(openParts(), { id, clientId, issuer, subject, groups });
    runtimes.set(name, { team, runtime });
    return runtime;
  }

  const getRuntimeWithoutTeam = (caller: Omit<RuntimeCaller, "groups">, reason: NoTeamReason): R =>
    getOrCreateRuntime(caller, [], reason, undefined, () => factory.openWithoutTeam(reason));

  /** Undefined if the team no longer exists. */
  async function getTeamRuntime(caller: Omit<RuntimeCaller, "groups">, membership: Membership): Promise<R | undefined> {
    const team = await openTeam(membership);
    const groups = membership.claim === undefined ? [] : [membership.claim];
    return team && getOrCreateRuntime(caller, groups, team.name, team, () => team.parts);
  }

  function retire(key: string, runtime: R): void {
    runtimes.delete(key);
    for (const listener of retiredListeners) listener(runtime);
  }

  return {
    /** The same object while nothing has changed. Only members can find out whether a team exists. Rejects with errors of the database. */
    async get(caller: Caller, team: string | undefined): Promise<R | undefined> {
      if (team !== undefined && !TEAM_NAME.test(team)) return undefined;
      const all = await findMemberships(caller);
      const [only, ...more] = team === undefined ? all : all.filter(({ name }) => name === team);
      if (more.length > 0)
        return getRuntimeWithoutTeam(caller, { why: "in several", names: all.map(({ name }) => name) });
      const runtime = only && (await getTeamRuntime(caller, only));
      if (runtime !== undefined) return runtime;
      const { issuer, subject } = caller;
      return getRuntimeWithoutTeam(
        caller,
        team === undefined ? { why: "in none", issuer, subject } : { why: "not in it", name: team, issuer, subject },
      );
    },

    /** Undefined if the link's caller is not a member now, or the team does not exist. Rejects with the errors of the database. */
    async getForLink(caller: CallerClaims, team: string | undefined): Promise<R | undefined> {
      const linked = { ...caller, clientId: "" };
      if (team === undefined) return getRuntimeWithoutTeam(linked, { why: "in none" });
      // Not from the cache: the links of a removed member stop working at once.
      const membership = (await teams.findByCaller(caller, caller.groups)).find(({ name }) => name === team);
      return membership && (await getTeamRuntime(linked, membership));
    },

    /** Calls in flight continue with the old parts of a changed team, unless it was removed. Rejects with the errors of the database. */
    async refresh(): Promise<void> {
      const current = await teams.readVersions();
      if (!isDeepStrictEqual(current, versions)) memberships.clear();
      versions = current;
      const dropped = [
        ...[...openedTeams.values()].map((team) => ({ team, drop: () => openedTeams.delete(team.name) })),
        ...[...runtimes.entries()].map(([key, { team, runtime }]) => ({ team, drop: () => retire(key, runtime) })),
      ];
      for (const { team, drop } of dropped) {
        if (team === undefined || current.get(team.name) === team.changedAt) continue;
        drop();
        // The team may have been added and opened after the changes were read.
        if (!current.has(team.name) && !(await teams.find(team.name))) team.parts.revoke();
      }
    },

    /** Calls `listener` with each runtime that no new request uses, because its team has changed. */
    onRetired: (listener: (runtime: R) => void) => void retiredListeners.add(listener),

    getCachedTeams: (): readonly P[] => [...openedTeams.values()].map(({ parts }) => parts),
  };
}
