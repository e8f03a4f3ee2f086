// Limits the calls per minute of each team. One row for each team counts its calls in the current minute, for all instances.
import * as z from "zod/v4";
import { withTimeoutFallback } from "../../core/async.ts";
import { type Database, POSTGRES_CLOCK } from "../../store/database.ts";
import type { LimitExceeded } from "./team-shares.ts";

/** A call waits at most this long for the database, and then runs without being counted: reads must also work without the database. */
const TIMEOUT_MS = 1_000;

/** Not logged, because a restart may forget the calls of a minute: a statement then waits for no disk and no replica. */
export const CALLS_TABLE =
  "CREATE UNLOGGED TABLE IF NOT EXISTS team_calls (team TEXT PRIMARY KEY, minute BIGINT NOT NULL, calls INTEGER NOT NULL)";

/** Returns a row if the calls ($2) of a team ($1) exceed its limit ($3). */
const COUNT_SQL = `WITH counted AS (
    INSERT INTO team_calls AS t (team, minute, calls) VALUES ($1, ${POSTGRES_CLOCK} / 60000, CAST($2 AS INTEGER))
    ON CONFLICT (team) DO UPDATE SET minute = GREATEST(t.minute, excluded.minute),
      calls = CASE WHEN t.minute >= excluded.minute THEN t.calls ELSE 0 END + excluded.calls
    WHERE t.minute < excluded.minute OR t.calls + excluded.calls <= CAST($3 AS INTEGER) RETURNING 1)
  SELECT 60000 - ${POSTGRES_CLOCK} % 60000 AS left_ms WHERE NOT EXISTS (SELECT 1 FROM counted)`;

const ExceededRow = z.object({ left_ms: z.int() });

export function createCallLimits({ query }: Pick<Database, "query">) {
  const limits = new Map<string, number>();
  return {
    /** Sets the limit of a team; undefined for none. */
    set(team: string, callsPerMinute: number | undefined): void {
      if (callsPerMinute === undefined) limits.delete(team);
      else limits.set(team, callsPerMinute);
    },

    /** Counts calls of a team, all or none. A batch with more calls than the limit counts as that limit. Never rejects. */
    async count(team: string, calls: number): Promise<LimitExceeded | undefined> {
      const limit = limits.get(team);
      if (limit === undefined || calls === 0) return undefined;
      const counting = query(COUNT_SQL, [team, Math.min(calls, limit), limit]);
      const [row] = await withTimeoutFallback(counting, [], TIMEOUT_MS);
      if (!row) return undefined;
      const retryAfterSeconds = Math.ceil(ExceededRow.parse(row).left_ms / 1_000);
      return {
        reason: "team_rate_limited",
        why: `at most ${limit} calls per minute of the team ${team}`,
        retryAfterSeconds,
      };
    },
  };
}
