// What each caller is served: made when he first calls, kept while it is used, and given out no more once his team has changed.
import { BoundedMap } from "../../bounded-map.ts";
import type { Caller } from "../../caller.ts";
import type { Candidate, Membership } from "./membership.ts";
import { type Belonging, type Member, TEAM_NAME, type Team, type Teams } from "./teams.ts";

/** Why a caller has no team at a path: he is in none, in several at a path that names none, or not in the one that it names. */
export type Outside =
  | ({ readonly why: "in none" } & Partial<Member>)
  | { readonly why: "in several"; readonly names: readonly string[] }
  | ({ readonly why: "not in it"; readonly name: string } & Member);

/** What is served to a caller hangs on no more of him: all else may be another with his next call. */
export interface Guest extends Member {
  /** As src/caller.ts has it. */
  readonly id: string;
  /** The OAuth client that he calls with. */
  readonly clientId: string;
  /** In a team: the value of its claim, if the caller belongs to it by that. */
  readonly groups: readonly string[];
}

/** How the parts of a team and what a caller is served are made. `P`: a team's parts; `R`: what a caller is served. */
export interface Making<P, R> {
  openTeam(team: Team): P;
  /** The team is no more: what was made with its parts does nothing from now on. */
  endTeam(parts: P): void;
  inside(parts: P, guest: Guest): R;
  outside(guest: Guest, why: Outside): R;
  /** It is given out no more, since its team has changed. */
  retired(runtime: R): void;
}

interface Options<P, R> {
  readonly membership: Membership;
  readonly find: Teams["find"];
  /** Teams whose parts are kept, the least recently used go first. */
  readonly maxTeams: number;
  readonly making: Making<P, R>;
}

/** Callers whose tools are kept: some 50 KB for each. */
const MAX_CALLERS = 2_000;

interface Known<P> {
  readonly parts: P;
  /** Of the team that they were made for. */
  readonly changedAt: number;
}

/** A team at hand, or on its way. */
interface AtHand<P> {
  readonly opening: Promise<Known<P> | undefined>;
  known?: Known<P> | undefined;
}

export function createRuntimes<P, R>({ membership, find, maxTeams, making }: Options<P, R>) {
  const teams = new BoundedMap<string, AtHand<P>>(maxTeams);
  const served = new BoundedMap<string, { readonly of: P | undefined; readonly runtime: R }>(MAX_CALLERS);

  /** The latest used stands last, and is forgotten last. */
  function use<V>(map: Map<string, V>, name: string, value: V): V {
    map.delete(name);
    map.set(name, value);
    return value;
  }

  async function made(name: string): Promise<Known<P> | undefined> {
    const team = await find(name);
    return team && { parts: making.openTeam(team), changedAt: team.changedAt };
  }

  function open(name: string): AtHand<P> {
    const opened: AtHand<P> = { opening: made(name) };
    opened.opening.then(
      (known) => {
        opened.known = known;
      },
      () => undefined,
    );
    return opened;
  }

  async function partsOf({ name, changedAt }: Pick<Belonging, "name" | "changedAt">): Promise<P | undefined> {
    const team = use(teams, name, teams.get(name) ?? open(name));
    const found = await team.opening.catch((error: unknown) => {
      if (teams.get(name) === team) teams.delete(name);
      throw error;
    });
    if (found !== undefined && found.changedAt >= changedAt) return found.parts;
    // It has changed since, or has come back: no notice has told.
    if (teams.get(name) === team) teams.delete(name);
    return found === undefined ? undefined : await partsOf({ name, changedAt });
  }

  function runtimeFor(name: string, of: P | undefined, make: () => R): R {
    const known = served.get(name);
    return use(served, name, known && known.of === of ? known : { of, runtime: make() }).runtime;
  }

  function outside({ id, clientId, issuer, subject }: Omit<Guest, "groups">, why: Outside): R {
    const guest = { id, clientId, issuer, subject, groups: [] };
    return runtimeFor(JSON.stringify([id, clientId, why]), undefined, () => making.outside(guest, why));
  }

  function inside({ id, clientId, issuer, subject }: Omit<Guest, "groups">, { name, claim }: Belonging, parts: P): R {
    const guest = { id, clientId, issuer, subject, groups: claim === undefined ? [] : [claim] };
    return runtimeFor(JSON.stringify([id, clientId, name, guest.groups]), parts, () => making.inside(parts, guest));
  }

  return {
    /**
     * What this caller is served at the path without a team, or at the path of one: the same object again while nothing has changed.
     * Undefined: there can be no such team. Whether there is one is told to its members alone. Rejects as the database does.
     */
    async of(caller: Caller, team: string | undefined): Promise<R | undefined> {
      if (team !== undefined && !TEAM_NAME.test(team)) return undefined;
      const belongings = await membership.of(caller);
      const [only, ...more] = team === undefined ? belongings : belongings.filter(({ name }) => name === team);
      const { issuer, subject } = caller;
      if (more.length > 0) return outside(caller, { why: "in several", names: belongings.map(({ name }) => name) });
      const parts = only && (await partsOf(only));
      if (only === undefined || parts === undefined)
        return team === undefined
          ? outside(caller, { why: "in none", issuer, subject })
          : outside(caller, { why: "not in it", name: team, issuer, subject });
      return inside(caller, only, parts);
    },

    /**
     * What a link serves that was made for this caller in a team, or in none. Undefined: the caller does not belong to the team now, or
     * there is no such team. Rejects as the database does.
     */
    async linkedTo(caller: Candidate, team: string | undefined): Promise<R | undefined> {
      const guest = { ...caller, clientId: "" };
      if (team === undefined) return outside(guest, { why: "in none" });
      const belonging = (await membership.of(caller)).find(({ name }) => name === team);
      const parts = belonging && (await partsOf(belonging));
      return parts && inside(guest, belonging, parts);
    },

    /** A team has changed. Parts of one that is no more are ended; others go on for whoever still works with them. */
    async changed(name: string): Promise<void> {
      const team = teams.get(name);
      teams.delete(name);
      membership.forget();
      const before = await team?.opening.catch(() => undefined);
      if (!before) return;
      for (const [whose, { of, runtime }] of served) {
        if (of !== before.parts) continue;
        served.delete(whose);
        making.retired(runtime);
      }
      if (!(await find(name))) making.endTeam(before.parts);
    },

    /** The parts of the teams at hand. */
    atHand: (): readonly P[] => [...teams.values()].flatMap(({ known }) => (known ? [known.parts] : [])),
  };
}
