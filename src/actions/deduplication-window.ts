// The deduplication window is longer than a night and shorter than a day, so that a daily job without a key runs every day.
import type { StoredAction } from "./store/action-row.ts";

/**
 * For this time (20 h) after a success, an identical call is a replay. For the same time after its first attempt, an action with an unknown
 * outcome is sent again under its key. No attempt starts later, because the API may have forgotten the key.
 */
export const DEDUPLICATION_WINDOW_MS = 20 * 3_600_000;

/**
 * SQL after SELECT: identical actions (`later`) that were created after `row` and succeeded. They supersede a `row` that is still
 * unknown.
 */
export const laterSuccessesSql = (row: string): string =>
  `FROM actions AS later WHERE later.service = ${row}.service AND later.tool = ${row}.tool
     AND later.fingerprint = ${row}.fingerprint AND later.state = 'succeeded' AND later.created_at > ${row}.created_at`;

/**
 * SQL condition: at `now`, `row` (an alias of `actions`) is live, so a call without a key that has its fingerprint refers to this action.
 * ABS is for a clock that was set back.
 */
export const liveSql = (row: string, now: string): string =>
  `(${row}.state = 'in_progress' OR (${row}.state = 'unknown' AND NOT EXISTS (SELECT 1 ${laterSuccessesSql(row)}))
     OR (${row}.state = 'succeeded' AND ABS(${now} - ${row}.resolved_at) < ${DEDUPLICATION_WINDOW_MS}))`;

/** True if the API may have forgotten the key of this action, which is then not sent again. */
export const isTooOldToResend = ({ first_sent_at }: Pick<StoredAction, "first_sent_at">, now: number): boolean =>
  now - first_sent_at > DEDUPLICATION_WINDOW_MS;

/** Formats a duration, such as "3 h", in the largest unit in which it is at least 1. Hours are used up to two days. */
export function formatDuration(ms: number): string {
  const seconds = Math.floor(ms / 1_000);
  if (seconds < 60) return `${seconds} s`;
  if (seconds < 3_600) return `${Math.floor(seconds / 60)} min`;
  const hours = Math.floor(seconds / 3_600);
  return hours < 48 ? `${hours} h` : `${Math.floor(hours / 24)} days`;
}
