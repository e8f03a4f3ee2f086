// Shares the cooldown after a 429 with Retry-After between all instances: one row for each team, by the database's clock.
import * as z from "zod/v4";
import type { Cooldown } from "../../api-client/pause.ts";
import { withTimeoutFallback } from "../../core/async.ts";
import { type Database, POSTGRES_CLOCK } from "../../store/database.ts";

/** A row is read at most once in this time, because calls come in bursts. */
const REFRESH_MS = 1_000;
/** A call waits at most this long for the database, and then uses the last known value. */
const TIMEOUT_MS = 1_000;

/** Times are in milliseconds since 1970. */
export const COOLDOWN_TABLES = { api_cooldowns: "team TEXT PRIMARY KEY, until_at BIGINT NOT NULL" };

const Row = z.object({ left_ms: z.number() });

/** `now`: the clock of this instance, in milliseconds since 1970. */
export function createCooldowns({ query }: Pick<Database, "query">, now: () => number) {
  /** Functions that return the end of each team's cooldown by the clock of this instance, in milliseconds since 1970. */
  const ends = new Map<string, () => number>();

  return {
    /** Remaining milliseconds of the longest cooldown of any team that this instance has read or recorded. */
    longestMs: (): number => Math.max(0, ...[...ends.values()].map((end) => end() - now())),

    /** Opens the cooldown of a team. Each one that is opened reads the row again. */
    forTeam(team: string): Cooldown {
      /** Never decreases. */
      let untilAt = 0;
      let readAt = Number.NEGATIVE_INFINITY;
      let reading: Promise<void> | undefined;
      ends.set(team, () => untilAt);

      async function read(): Promise<void> {
        readAt = now();
        const sql = `SELECT until_at - ${POSTGRES_CLOCK} AS left_ms FROM api_cooldowns WHERE team = $1`;
        const [row] = await query(sql, [team]);
        if (row !== undefined) untilAt = Math.max(untilAt, now() + Row.parse(row).left_ms);
      }

      return {
        leftMs() {
          if (now() - readAt >= REFRESH_MS) reading ??= read().finally(() => (reading = undefined));
          const getLeftMs = () => untilAt - now();
          // Without the database, the last known value applies.
          return reading ? withTimeoutFallback(reading, undefined, TIMEOUT_MS).then(getLeftMs) : getLeftMs();
        },
        async record(ms) {
          untilAt = Math.max(untilAt, now() + ms);
          const writing = query(
            `INSERT INTO api_cooldowns (team, until_at) VALUES ($1, ${POSTGRES_CLOCK} + CAST($2 AS BIGINT))
             ON CONFLICT (team) DO UPDATE SET until_at = GREATEST(api_cooldowns.until_at, excluded.until_at)`,
            [team, Math.round(ms)],
          );
          // If this fails, the cooldown applies to this instance only.
          await withTimeoutFallback(writing, [], TIMEOUT_MS);
        },
      };
    },
  };
}
