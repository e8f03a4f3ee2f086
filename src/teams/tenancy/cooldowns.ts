// Shares the cooldown after a 429 with Retry-After between all instances: one row for each team, by the database's clock.
import * as z from "zod/v4";
import { type Database, POSTGRES_CLOCK } from "../../actions/store/database.ts";
import { withTimeoutFallback } from "../../core/async.ts";
import type { Cooldown } from "../../core/hooks.ts";

interface Options {
  readonly database: Pick<Database, "query">;
  /** The clock of this instance, in milliseconds since 1970. */
  readonly now: () => number;
}

/** A row is read at most once in this time, because calls come in bursts. */
const REFRESH_MS = 1_000;
/** A call waits at most this long for the database, and then uses the last known value. */
const TIMEOUT_MS = 1_000;

/** Times are in milliseconds since 1970. */
export const COOLDOWN_TABLES = { api_cooldowns: "team TEXT PRIMARY KEY, until_at BIGINT NOT NULL" };

const Row = z.object({ left_ms: z.number() });

interface CachedCooldown {
  /** By the clock of this instance, in milliseconds since 1970. It never decreases. */
  untilAt: number;
  readAt: number;
  reading: Promise<void> | undefined;
}

export function createCooldowns({ database: { query }, now }: Options) {
  const teams = new Map<string, CachedCooldown>();

  function getOrCreateCached(team: string): CachedCooldown {
    const known = teams.get(team) ?? { untilAt: 0, readAt: Number.NEGATIVE_INFINITY, reading: undefined };
    teams.set(team, known);
    return known;
  }

  async function read(team: string, known: CachedCooldown): Promise<void> {
    known.readAt = now();
    try {
      const [row] = await query(`SELECT until_at - ${POSTGRES_CLOCK} AS left_ms FROM api_cooldowns WHERE team = $1`, [
        team,
      ]);
      if (row !== undefined) known.untilAt = Math.max(known.untilAt, now() + Row.parse(row).left_ms);
    } catch {
      // Without the database, the last known value applies.
    }
    known.reading = undefined;
  }

  const write = (team: string, ms: number) =>
    query(
      `INSERT INTO api_cooldowns (team, until_at) VALUES ($1, ${POSTGRES_CLOCK} + CAST($2 AS BIGINT))
       ON CONFLICT (team) DO UPDATE SET until_at = GREATEST(api_cooldowns.until_at, excluded.until_at)`,
      [team, ms],
    );

  return {
    /** Remaining milliseconds of the longest cooldown of any team that this instance has read or recorded. */
    longestMs: (): number =>
      [...teams.values()].reduce((longest, { untilAt }) => Math.max(longest, untilAt - now()), 0),

    forTeam(team: string): Cooldown {
      return {
        async leftMs() {
          const known = getOrCreateCached(team);
          if (now() - known.readAt >= REFRESH_MS) known.reading ??= read(team, known);
          if (known.reading) await withTimeoutFallback(known.reading, undefined, TIMEOUT_MS);
          return known.untilAt - now();
        },
        async record(ms) {
          const known = getOrCreateCached(team);
          known.untilAt = Math.max(known.untilAt, now() + ms);
          // If this fails, the cooldown applies to this instance only.
          const writing = write(team, Math.round(ms)).catch(() => undefined);
          await withTimeoutFallback(writing, undefined, TIMEOUT_MS);
        },
      };
    },
  };
}
