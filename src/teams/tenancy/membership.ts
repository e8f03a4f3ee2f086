// Which teams a caller belongs to, kept for a while: it is asked with every request.
import { BoundedMap } from "../../bounded-map.ts";
import type { Caller } from "../../caller.ts";
import type { Belonging, Teams } from "./teams.ts";

/** A change is heard of at once; for where nothing can be heard. */
const KEPT_MS = 30_000;
const MAX_KEPT = 10_000;

/** What membership depends on. */
export type Candidate = Pick<Caller, "id" | "issuer" | "subject" | "groups">;

interface Kept {
  readonly teams: Promise<readonly Belonging[]>;
  readonly untilAt: number;
}

export type Membership = ReturnType<typeof createMembership>;

export function createMembership({ teams, now }: { readonly teams: Pick<Teams, "of">; readonly now: () => number }) {
  const known = new BoundedMap<string, Kept>(MAX_KEPT);

  return {
    /** By their names. Rejects as the database does; the next one asks again. */
    async of(caller: Candidate): Promise<readonly Belonging[]> {
      const name = JSON.stringify([caller.id, caller.groups]);
      const kept = known.get(name);
      if (kept && now() < kept.untilAt) return await kept.teams;
      const asked: Kept = { teams: teams.of(caller, caller.groups), untilAt: now() + KEPT_MS };
      known.delete(name);
      known.set(name, asked);
      asked.teams.catch(() => known.get(name) === asked && known.delete(name));
      return await asked.teams;
    },

    /** Something has changed: all are asked for again. */
    forget: (): void => known.clear(),
  };
}
