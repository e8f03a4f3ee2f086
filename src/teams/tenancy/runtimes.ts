// One runtime for each caller in a team: made at the first call, cached while it is in use, and dropped when the team changes.
import { LRUCache } from "lru-cache";
import type { Caller } from "../caller.ts";
import { type Belonging, type Member, TEAM_NAME, type Team, type Teams } from "./teams.ts";

/** Why a caller has no team at a path: they are in none, in several at a path that names none, or not in the one that it names. */
export type NoTeam =
  | ({ readonly why: "in none" } & Partial<Member>)
  | { readonly why: "in several"; readonly names: readonly string[] }
  | ({ readonly why: "not in it"; readonly name: string } & Member);

/** The properties of a caller that a runtime depends on: all others may change with the next call. */
export interface RuntimeCaller extends Member {
  /** See caller.ts. */
  readonly id: string;
  /** The OAuth client that they call with. */
  readonly clientId: string;
  /** In a team: the value of its claim, if the caller is a member by it. */
  readonly groups: readonly string[];
}

/** The properties of a caller that their membership depends on. */
export type Candidate = Pick<Caller, "id" | "issuer" | "subject" | "groups">;

/** Creates the parts of a team (`P`) and the runtimes of callers (`R`). */
export interface RuntimeFactory<P, R> {
  openTeam(team: Team): P;
  /** The team was removed: its parts do nothing from now on. */
  endTeam(parts: P): void;
  inTeam(parts: P, caller: RuntimeCaller): R;
  withoutTeam(caller: RuntimeCaller, why: NoTeam): R;
  /** The runtime is not used for new requests, because its team has changed. */
  retired(runtime: R): void;
}

interface Options<P, R> {
  readonly teams: Pick<Teams, "find" | "of">;
  readonly now: () => number;
  /** Teams whose parts are cached. */
  readonly maxTeams: number;
  readonly factory: RuntimeFactory<P, R>;
}

/** A notice announces a change at once; this limit is for an instance that missed the notice. */
const MEMBERSHIP_MS = 30_000;
const MAX_MEMBERSHIPS = 10_000;
/** Callers whose runtimes are cached, with about 50 KB each. */
const MAX_RUNTIMES = 2_000;

interface OpenTeam<P> {
  readonly opening: Promise<{ readonly parts: P; readonly changedAt: number } | undefined>;
  /** Set when it is open. */
  parts?: P;
}

export function createRuntimes<P, R>({ teams, now, maxTeams, factory }: Options<P, R>) {
  const memberships = new LRUCache<string, Promise<readonly Belonging[]>>({
    max: MAX_MEMBERSHIPS,
    ttl: MEMBERSHIP_MS,
    ttlResolution: 0,
    perf: { now },
  });
  const open = new LRUCache<string, OpenTeam<P>>({ max: maxTeams });
  const runtimes = new LRUCache<string, { readonly parts: P | undefined; readonly runtime: R }>({ max: MAX_RUNTIMES });

  /** Rejects as the database does; the next call asks again. */
  function belongingsOf(caller: Candidate): Promise<readonly Belonging[]> {
    const name = JSON.stringify([caller.id, caller.groups]);
    const cached = memberships.get(name);
    if (cached) return cached;
    const belongings = teams.of(caller, caller.groups);
    memberships.set(name, belongings);
    belongings.catch(() => memberships.get(name) === belongings && memberships.delete(name));
    return belongings;
  }

  function openTeam(name: string): OpenTeam<P> {
    const opening = teams.find(name).then((team) => {
      if (!team) return undefined;
      entry.parts = factory.openTeam(team);
      return { parts: entry.parts, changedAt: team.changedAt };
    });
    const entry: OpenTeam<P> = { opening };
    return entry;
  }

  async function partsOf({ name, changedAt }: Pick<Belonging, "name" | "changedAt">): Promise<P | undefined> {
    const team = open.get(name) ?? openTeam(name);
    open.set(name, team);
    const forget = () => open.get(name) === team && open.delete(name);
    const found = await team.opening.catch((error: unknown) => {
      forget();
      throw error;
    });
    if (found && found.changedAt >= changedAt) return found.parts;
    // The team has changed since, or was added again, and the notice was missed.
    forget();
    return found && (await partsOf({ name, changedAt }));
  }

  /** `key`: with the caller, what the runtime depends on. */
  function cached(caller: RuntimeCaller, key: unknown, parts: P | undefined, create: () => R): R {
    const name = JSON.stringify([caller.id, caller.clientId, key]);
    const known = runtimes.get(name);
    if (known && known.parts === parts) return known.runtime;
    const runtime = create();
    runtimes.set(name, { parts, runtime });
    return runtime;
  }

  function withoutTeam({ id, clientId, issuer, subject }: Omit<RuntimeCaller, "groups">, why: NoTeam): R {
    const caller = { id, clientId, issuer, subject, groups: [] };
    return cached(caller, why, undefined, () => factory.withoutTeam(caller, why));
  }

  function inTeam({ id, clientId, issuer, subject }: Omit<RuntimeCaller, "groups">, team: Belonging, parts: P): R {
    const caller = { id, clientId, issuer, subject, groups: team.claim === undefined ? [] : [team.claim] };
    return cached(caller, [team.name, caller.groups], parts, () => factory.inTeam(parts, caller));
  }

  return {
    /**
     * The runtime of this caller at the path without a team, or at the path of one: the same object while nothing has changed. Undefined if
     * no team can have this name. Only members learn whether a team exists. Rejects as the database does.
     */
    async of(caller: Caller, team: string | undefined): Promise<R | undefined> {
      if (team !== undefined && !TEAM_NAME.test(team)) return undefined;
      const belongings = await belongingsOf(caller);
      const [only, ...more] = team === undefined ? belongings : belongings.filter(({ name }) => name === team);
      const { issuer, subject } = caller;
      if (more.length > 0) return withoutTeam(caller, { why: "in several", names: belongings.map(({ name }) => name) });
      const parts = only && (await partsOf(only));
      if (only && parts !== undefined) return inTeam(caller, only, parts);
      return withoutTeam(
        caller,
        team === undefined ? { why: "in none", issuer, subject } : { why: "not in it", name: team, issuer, subject },
      );
    },

    /**
     * The runtime for a link that was made for this caller in a team, or in none. Undefined if the caller is not a member now, or the team
     * does not exist. Rejects as the database does.
     */
    async forLink(caller: Candidate, team: string | undefined): Promise<R | undefined> {
      const linked = { ...caller, clientId: "" };
      if (team === undefined) return withoutTeam(linked, { why: "in none" });
      const belonging = (await belongingsOf(caller)).find(({ name }) => name === team);
      const parts = belonging && (await partsOf(belonging));
      return parts && inTeam(linked, belonging, parts);
    },

    /** A team has changed. Calls in flight continue with its old parts, unless the team was removed. */
    async changed(name: string): Promise<void> {
      const before = open.get(name);
      open.delete(name);
      memberships.clear();
      const old = await before?.opening.catch(() => undefined);
      if (!old) return;
      for (const [key, { parts, runtime }] of [...runtimes.entries()]) {
        if (parts !== old.parts) continue;
        runtimes.delete(key);
        factory.retired(runtime);
      }
      if (!(await teams.find(name))) factory.endTeam(old.parts);
    },

    /** The parts of the cached teams. */
    openTeams: (): readonly P[] => [...open.values()].flatMap(({ parts }) => (parts === undefined ? [] : [parts])),
  };
}
