// The deduplication window is longer than a night and shorter than a day, so that a daily job without a key runs every day.
import type { StoredAction } from "./action-row.ts";

/**
 * For this time (20 h) after a success, an identical call is a replay. For the same time after its first attempt, an action with an unknown
 * outcome is sent again under its key. No attempt starts later, because the API may have forgotten the key.
 */
export const DEDUPLICATION_WINDOW_MS = 20 * 3_600_000;

/**
 * A success with a time in the future was recorded before the clock was set back. An identical call is a replay of it, but not if the
 * clock was ahead by more than this time (30 days): the user would have to wait too long for the end of the window.
 */
const MAX_FUTURE_MS = 30 * 24 * 3_600_000;

/**
 * SQL condition: `row` belongs to `service`. The expression keeps SQLite, which has no statistics of the rows, from reading all rows of the
 * service by an index instead of those with a fingerprint.
 */
export const hasServiceSql = (row: string, service: string): string => `${row}.service || '' = ${service}`;

/** SQL after SELECT: identical actions (`later`) that succeeded after `row`. They supersede a `row` that is still unknown. */
const laterSuccessesSql = (row: string): string =>
  `FROM actions AS later WHERE ${hasServiceSql("later", `${row}.service`)} AND later.tool = ${row}.tool
     AND (later.fingerprint = ${row}.fingerprint OR later.bound_fingerprint = ${row}.bound_fingerprint) AND later.state = 'succeeded' AND later.created_at > ${row}.created_at`;

/**
 * SQL condition: at `now`, `row` (an alias of `actions`) is live, so a call without a key that has its fingerprint refers to this action.
 */
export const liveSql = (row: string, now: string): string =>
  `(${row}.state = 'in_progress' OR (${row}.state = 'unknown' AND NOT EXISTS (SELECT 1 ${laterSuccessesSql(row)}))
     OR (${row}.state = 'succeeded' AND ${now} - ${row}.resolved_at < ${DEDUPLICATION_WINDOW_MS}
       AND ${row}.resolved_at - ${now} < ${MAX_FUTURE_MS}))`;

/** The clocks of two servers of the journal may differ by this much. */
const CLOCK_SLACK_MS = 60_000;

/** Milliseconds since the first attempt, by the journal's clock. Negative if that clock was set back. */
export const journalAgeMs = ({ read_at, first_sent_at }: Pick<StoredAction, "read_at" | "first_sent_at">): number =>
  read_at - first_sent_at;

/** True if the API may have forgotten the key of an action of this age, which is then not sent again. A negative age shows nothing. */
export const isTooOldToResend = (ageMs: number): boolean => ageMs > DEDUPLICATION_WINDOW_MS || ageMs < -CLOCK_SLACK_MS;

/** Formats a duration, such as "3 h", in the largest unit in which it is at least 1. Durations of up to two days are written in hours. */
export function formatDuration(ms: number): string {
  const seconds = Math.floor(ms / 1_000);
  if (seconds < 60) return `${seconds} s`;
  if (seconds < 3_600) return `${Math.floor(seconds / 60)} min`;
  const hours = Math.floor(seconds / 3_600);
  return hours < 48 ? `${hours} h` : `${Math.floor(hours / 24)} days`;
}
