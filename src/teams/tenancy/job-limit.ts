// Limits the jobs that a team starts per day (UTC). The statement that claims the action of a new job also counts the job, so the limit holds
// over all instances. The statement that records a rejection takes the job back.
import * as z from "zod/v4";
import { ActionRefused, type Statement } from "../../actions/action-observer.ts";
import { CREATES_JOB } from "../../actions/journal-reads.ts";
import { type Database, POSTGRES_CLOCK, type SqlValue } from "../../store/database.ts";

const DAY_MS = 86_400_000;

/** The limits of teams, and the jobs that a team with limits started on `day` (days since 1970). */
export const LIMITS_TABLE = `CREATE TABLE IF NOT EXISTS team_limits (team TEXT PRIMARY KEY, calls_per_minute INTEGER,
  jobs_per_day INTEGER, day BIGINT NOT NULL, jobs INTEGER NOT NULL)`;

/** SQL for the current day (UTC), as a number of days since 1970, and for its start in milliseconds since 1970. */
export const TODAY = `${POSTGRES_CLOCK} / ${DAY_MS}`;
export const START_OF_TODAY = `${TODAY} * ${DAY_MS}`;

/**
 * Completes the statement that claims the action of a job: it locks the row of the team, and counts the job if its action is new or was
 * rejected. A statement that waited for the lock until the next day counts for that day.
 */
export function withJobLimit(
  sqlWith: (condition: string) => string,
  values: readonly SqlValue[],
  team: string,
): Statement {
  const sql = `WITH job_limit AS (
      SELECT team, jobs_per_day, GREATEST(day, ${TODAY}) AS day, CASE WHEN day >= ${TODAY} THEN jobs ELSE 0 END AS jobs
      FROM team_limits WHERE team = $${values.length + 1} FOR UPDATE),
    claimed AS (${sqlWith("NOT EXISTS (SELECT 1 FROM job_limit WHERE jobs >= jobs_per_day)")}),
    counted AS (UPDATE team_limits AS t SET day = l.day, jobs = l.jobs + 1 FROM job_limit AS l, claimed AS c
      WHERE t.team = l.team AND c.indeterminate = 0)
    SELECT * FROM claimed`;
  return { sql, values: [...values, team] };
}

/** A statement after a CTE `resolved` with an action: takes its job back if it was rejected on the day on which it was counted. */
export const uncountRejectedJob = (team: string): string =>
  `UPDATE team_limits AS t SET jobs = t.jobs - 1 FROM resolved AS r
   WHERE t.team = ${team} AND r.state = 'rejected' AND r.${CREATES_JOB} AND t.day = r.first_sent_at / ${DAY_MS} AND t.jobs > 0`;

const ReachedRow = z.object({ jobs_per_day: z.int(), left_ms: z.int() });

/** Throws ActionRefused if the team may start no more jobs today. */
export async function assertJobLeft({ query }: Pick<Database, "query">, team: string): Promise<void> {
  const [row] = await query(
    `SELECT jobs_per_day, ${DAY_MS} - ${POSTGRES_CLOCK} % ${DAY_MS} AS left_ms FROM team_limits
     WHERE team = $1 AND day >= ${TODAY} AND jobs >= jobs_per_day`,
    [team],
  );
  if (!row) return;
  const { jobs_per_day: limit, left_ms } = ReachedRow.parse(row);
  throw new ActionRefused({
    kind: "rate_limited",
    message: `Not sent: the team ${team} has reached its limit of jobs per day (${limit}).`,
    retryable: true,
    sideEffect: "none",
    retryAfterSeconds: Math.ceil(left_ms / 1_000),
    next: "Call again after 00:00 UTC, or ask the user to ask the operator of this server for a higher limit.",
  });
}
