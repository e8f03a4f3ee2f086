// Detects that a failover or a restore lost journal rows. An instance remembers its latest confirmed rows. On its first connection to another
// server or timeline it looks them up, before any other statement runs there.
import { setTimeout as sleep } from "node:timers/promises";
import * as z from "zod/v4";
import { DEDUPLICATION_WINDOW_MS } from "../actions/deduplication-window.ts";
import type { StoredAction } from "../actions/journal.ts";
import { errorCode } from "../core/failure.ts";
import { type Database, POSTGRES_CLOCK } from "../store/database.ts";
import type { TimeRange } from "./variables.ts";

/** After a failover, an instance waits this long before its first action, because the others look for lost rows every 2 s. */
const PEERS_CHECK_MS = 3_000;

/**
 * Rows of $2 that are missing or older, from the first to the last; null if there are none. A row with another `created_at` was inserted
 * again after the loss, and a row of another owner is later than this instance's version. Rows before the window may have been deleted.
 */
const FIND_LOST_SQL = `SELECT MIN(mine.updated_at) AS first, MAX(mine.updated_at) AS last
  FROM json_to_recordset(CAST($2 AS json)) AS mine (service TEXT, key TEXT, created_at BIGINT, updated_at BIGINT)
  WHERE mine.updated_at > ${POSTGRES_CLOCK} - ${DEDUPLICATION_WINDOW_MS} AND NOT EXISTS (
    SELECT 1 FROM actions AS a WHERE a.service = mine.service AND a.key = mine.key AND a.created_at = mine.created_at
      AND (a.owner <> $1 OR a.updated_at >= mine.updated_at))`;

/**
 * Stores the range from the newest row that survived until now. $1 and $2: times of the first and the last lost row. Rows that other
 * instances have written since then are newer than $1. A range that contains both is kept, and a recent one is extended.
 */
const STORE_RANGE_SQL = `WITH lost AS (SELECT GREATEST(${POSTGRES_CLOCK}, CAST($2 AS BIGINT)) AS until, COALESCE(GREATEST(
      (SELECT MAX(updated_at) FROM actions WHERE updated_at < CAST($1 AS BIGINT)),
      (SELECT checked_at FROM deployment WHERE checked_at < CAST($1 AS BIGINT))), CAST($1 AS BIGINT)) AS since)
  INSERT INTO deployment AS d (id, checked_at, server, restored_from, restored_to) SELECT 1, until, '', since, until FROM lost
  ON CONFLICT (id) DO UPDATE SET restored_to = EXCLUDED.restored_to,
    restored_from = CASE WHEN d.restored_to > EXCLUDED.restored_to - ${DEDUPLICATION_WINDOW_MS}
      THEN LEAST(d.restored_from, EXCLUDED.restored_from) ELSE EXCLUDED.restored_from END
  WHERE d.restored_to IS NULL OR CAST($1 AS BIGINT) < d.restored_from OR CAST($2 AS BIGINT) > d.restored_to`;

const READ_RANGE_SQL = "SELECT restored_from, restored_to FROM deployment WHERE restored_to IS NOT NULL";

const UNDEFINED_TABLE = "42P01";

const LostRow = z.object({ first: z.int().nullable(), last: z.int().nullable() });
const RangeRow = z.object({ restored_from: z.int(), restored_to: z.int() });

/**
 * Remembers rows that include the one with the highest WAL position. PostgreSQL confirms concurrent commits in any order, and after a loss
 * it has all commits up to a position. So a row is forgotten only when a write that was sent after its confirmation is confirmed. A later
 * insert replaces all such rows. A later update replaces only updates, because a takeover by another instance hides that it was lost.
 */
export function createConfirmedRows() {
  let rows: readonly (Pick<StoredAction, "service" | "key" | "created_at" | "updated_at"> & { at: number })[] = [];
  let confirmations = 0;
  return {
    /** Called before a write is sent; the returned function takes the row when its commit is confirmed. */
    onWrite() {
      const sentAt = confirmations;
      return ({ service, key, created_at, updated_at }: StoredAction): void => {
        const isInsert = created_at === updated_at;
        const stays = (row: (typeof rows)[number]) =>
          row.at > sentAt || (!isInsert && row.created_at === row.updated_at);
        confirmations += 1;
        rows = [...rows.filter(stays), { service, key, created_at, updated_at, at: confirmations }];
      };
    },
    get: () => rows,
  };
}

/** `onLoss` receives the range of lost rows of this or any other instance, even if it was detected before. */
export function createLossDetector(owner: string, onLoss: (range: TimeRange) => void) {
  const confirmed = createConfirmedRows();
  let hasChecked = false;

  async function storeLostRange(query: Database["query"]): Promise<void> {
    if (confirmed.get().length === 0) return;
    const [found] = await query(FIND_LOST_SQL, [owner, JSON.stringify(confirmed.get())]);
    const { first, last } = LostRow.parse(found);
    if (first === null) return;
    await query("BEGIN");
    // This must not block, even if the primary has no replicas. A later commit is confirmed only together with all earlier ones.
    await query("SET LOCAL synchronous_commit = local");
    await query(STORE_RANGE_SQL, [first, last]);
    await query("COMMIT");
  }

  return {
    onWrite: confirmed.onWrite,
    /** For the first connection to a server. No other statement runs there before this has resolved. */
    async onNewServer(query: Database["query"]): Promise<void> {
      await storeLostRange(query);
      if (hasChecked) await sleep(PEERS_CHECK_MS, undefined, { ref: false });
      const [row] = await query(READ_RANGE_SQL).catch((error: unknown) => {
        // The first migration creates the table.
        if (errorCode(error) === UNDEFINED_TABLE) return [];
        throw error;
      });
      hasChecked = true;
      if (!row) return;
      const { restored_from, restored_to } = RangeRow.parse(row);
      onLoss({ from: new Date(restored_from), to: new Date(restored_to) });
    },
  };
}
