// Limits the jobs that a team of a deployment starts per day (UTC). The statement that claims the action of a new job also counts the job, so
// the limit holds over all instances. The statement that records a rejection takes the job back. Only PostgreSQL has teams.
import * as z from "zod/v4";
import { Failure } from "../core/failure.ts";
import type { Auditor } from "../core/hooks.ts";
import { type Database, POSTGRES_CLOCK, type SqlValue } from "../store/database.ts";

const DAY_MS = 86_400_000;

/** SQL condition: the action creates a job. */
export const CREATES_JOB = "tool IN ('submit_job', 'retry_job')";

/** SQL for the current day (UTC), as a number of days since 1970, and for its start in milliseconds since 1970. */
export const TODAY = `${POSTGRES_CLOCK} / ${DAY_MS}`;
export const START_OF_TODAY = `${TODAY} * ${DAY_MS}`;

/** Returns the team whose limit applies to an action; undefined if none does. */
export const limitedTeam = (tool: string, auditor: Auditor | undefined): string | undefined =>
  CREATES_JOB.includes(`'${tool}'`) ? auditor?.team : undefined;

/**
 * Completes the statement that claims an action: it locks the row of the team, and counts the job if its action is new or was rejected.
 * `claimSql` returns SQL for a further condition. A statement that waited for the lock until the next day counts for that day.
 */
export function withJobLimit(
  claimSql: (condition: string) => string,
  values: readonly SqlValue[],
  team: string | undefined,
): { readonly sql: string; readonly values: readonly SqlValue[] } {
  if (team === undefined) return { sql: claimSql("TRUE"), values };
  const sql = `WITH job_limit AS (
      SELECT team, jobs_per_day, GREATEST(day, ${TODAY}) AS day, CASE WHEN day >= ${TODAY} THEN jobs ELSE 0 END AS jobs
      FROM team_limits WHERE team = $${values.length + 1} FOR UPDATE),
    claimed AS (${claimSql("NOT EXISTS (SELECT 1 FROM job_limit WHERE jobs >= jobs_per_day)")}),
    counted AS (UPDATE team_limits AS t SET day = l.day, jobs = l.jobs + 1 FROM job_limit AS l, claimed AS c
      WHERE t.team = l.team AND c.indeterminate = 0)
    SELECT * FROM claimed`;
  return { sql, values: [...values, team] };
}

/** A statement after a CTE `resolved` with an action: takes its job back if it was rejected on the day on which it was counted. */
export const uncountRejectedJob = (team: string): string =>
  `UPDATE team_limits AS t SET jobs = t.jobs - 1 FROM resolved AS r
   WHERE t.team = ${team} AND r.state = 'rejected' AND r.${CREATES_JOB} AND t.day = r.first_sent_at / ${DAY_MS} AND t.jobs > 0`;

/** The team has started as many jobs as it may on this day. Nothing was sent, and no action was recorded. */
export class JobLimitReached extends Failure {}

const ReachedRow = z.object({ jobs_per_day: z.int(), left_ms: z.int() });

/** Throws JobLimitReached if the team may start no more jobs today. */
export async function assertJobLeft(query: Database["query"], team: string): Promise<void> {
  const [row] = await query(
    `SELECT jobs_per_day, ${DAY_MS} - ${POSTGRES_CLOCK} % ${DAY_MS} AS left_ms FROM team_limits
     WHERE team = $1 AND day >= ${TODAY} AND jobs >= jobs_per_day`,
    [team],
  );
  if (!row) return;
  const { jobs_per_day: limit, left_ms } = ReachedRow.parse(row);
  throw new JobLimitReached({
    kind: "rate_limited",
    message: `Not sent: the team ${team} has reached its limit of jobs per day (${limit}).`,
    retryable: true,
    sideEffect: "none",
    retryAfterSeconds: Math.ceil(left_ms / 1_000),
    next: "Call again after 00:00 UTC, or ask the user to ask the operator of this server for a higher limit.",
  });
}
