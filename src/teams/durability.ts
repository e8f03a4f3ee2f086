// Checks whether a commit that PostgreSQL confirms survives the loss of its server, with a real commit. If a failover or a restore loses a
// journal row, its action may run twice, so the row that the commit writes also shows whether the database lost rows.
import * as z from "zod/v4";
import { withTimeout } from "../core/async.ts";
import { errorCode } from "../core/failure.ts";
import { type Database, type DatabaseRow, POSTGRES_CLOCK } from "../store/database.ts";
import type { DatabaseSettings } from "./settings.ts";
import type { TimeRange } from "./variables.ts";

/** A commit that waits longer for a replica counts as blocked. */
const BLOCKED_SECONDS = 3;

/** `error`: a clause without a full stop. `next`: one or two sentences that describe the fix. */
export interface DurabilityProblem {
  readonly error: string;
  readonly next: string;
  /** Commits wait for a replica, and none confirms. */
  readonly isBlocked?: true;
}

/** Programs that receive the WAL, but are no replicas: of a backup, PostgreSQL reports an ever longer delay. */
const BACKUPS = "('pg_basebackup', 'pg_receivewal')";

// Every role can count the connected replicas, and read the waits of its own connections. Only a role that may read statistics
// (pg_monitor) can read the state and the names of replicas. `blocked`: commits of this role that wait for a replica.
const SQL = `SELECT current_setting('synchronous_commit') AS commits, current_setting('synchronous_standby_names') AS standbys,
  (SELECT COUNT(*) FROM pg_stat_replication) AS connected,
  (SELECT string_agg(application_name, ', ') FROM pg_stat_replication WHERE sync_state IS NOT NULL) AS names,
  (SELECT COUNT(*) FROM pg_stat_replication WHERE sync_state IN ('sync', 'quorum')) AS confirming,
  (SELECT COUNT(*) FROM pg_stat_activity
     WHERE wait_event = 'SyncRep' AND query_start < clock_timestamp() - interval '${BLOCKED_SECONDS} seconds') AS blocked,
  (SELECT COUNT(*) FROM pg_stat_replication
     WHERE state = 'streaming' AND application_name NOT IN ${BACKUPS}) AS replicas`;

const CONFIGURE_STANDBYS =
  "Add two replicas, and make commits wait for one of them: synchronous_standby_names = 'ANY 1 (a, b)'.";

/** Returns undefined if commits are durable. Throws the errors of the database. */
export async function checkDurability(
  query: Database["query"],
  mode: DatabaseSettings["durability"],
): Promise<DurabilityProblem | undefined> {
  const [row = {}] = await query(SQL);
  const commits = String(row["commits"]);
  if (commits === "off" || commits === "local")
    return {
      error: `PostgreSQL confirms commits before they are durable: synchronous_commit is ${commits}`,
      next: "Behind a connection pooler in transaction mode, set it for the role: ALTER ROLE … SET synchronous_commit = 'on'.",
    };
  const { standbys, names } = row;
  if (standbys !== "") {
    // Not every role may read the names.
    const hasNames = typeof names === "string";
    const isUnconfirmed = hasNames && Number(row["confirming"]) === 0;
    if (Number(row["connected"]) > 0 && !isUnconfirmed && Number(row["blocked"]) === 0) return undefined;
    return {
      error: `All writes are blocked: commits wait for a PostgreSQL replica of synchronous_standby_names = ${JSON.stringify(String(standbys))}, and none of them confirms${hasNames ? `. Connected: ${names}` : ""}`,
      isBlocked: true,
      next: "Reconnect a replica whose application_name (in primary_conninfo) is in that setting, or clear the setting temporarily; blocked writes are not lost.",
    };
  }
  if (mode === "synchronous")
    return {
      error:
        "Commits do not wait for a PostgreSQL replica: synchronous_standby_names is empty, so a failover would lose actions",
      next: `${CONFIGURE_STANDBYS} To use one server without replicas, set MIC_DATABASE_DURABILITY=local.`,
    };
  if (Number(row["replicas"]) === 0) return undefined;
  return {
    error:
      "MIC_DATABASE_DURABILITY is local, but PostgreSQL has replicas and commits do not wait for them: a failover would lose actions",
    next: `${CONFIGURE_STANDBYS} Then unset MIC_DATABASE_DURABILITY.`,
  };
}

const FIGURES_SQL = `WITH replicas AS (SELECT replay_lag FROM pg_stat_replication WHERE COALESCE(application_name, '') NOT IN ${BACKUPS})
  SELECT (SELECT COUNT(*) FROM replicas) AS replicas,
    COALESCE((SELECT EXTRACT(EPOCH FROM MAX(replay_lag)) FROM replicas), 0)::float8 AS lag,
    (SELECT SUM(numbackends) FROM pg_stat_database)::float8 / current_setting('max_connections')::float8 AS connections`;
const FiguresRow = z.object({ replicas: z.int(), lag: z.number(), connections: z.number() });
export type DatabaseFigures = z.infer<typeof FiguresRow>;

/** Reads what an operator watches: connected replicas, their delay in seconds, and the share of connections in use. */
export const readFigures = async (query: Database["query"]): Promise<DatabaseFigures> =>
  FiguresRow.parse((await query(FIGURES_SQL))[0]);

/** Writes 128 KB, which need new pages: a full disk often still has room for small rows. The table is dropped at the end of the statement. */
const SPACE_SQL = `DO $$ BEGIN
  CREATE TEMP TABLE mic_space_check ON COMMIT DROP AS SELECT repeat('x', 2000) AS x FROM generate_series(1, 64);
END $$`;
/** The space is checked at this interval, and at each check after a statement failed because of it. */
const SPACE_CHECK_MS = 60_000;

/** Whether PostgreSQL lacks space, memory or another resource. `error`: as thrown by `query`. */
function isResourceError(error: unknown): boolean {
  const cause = error instanceof Error && error.cause !== undefined ? error.cause : error;
  return errorCode(cause).startsWith("53");
}

export function createSpaceCheck(monotonicMs: () => number) {
  let checkedAtMs = Number.NEGATIVE_INFINITY;
  return {
    /** Runs a statement, and detects a failure because of missing space. */
    observe: <T>(statement: Promise<T>): Promise<T> =>
      statement.catch((error: unknown) => {
        if (isResourceError(error)) checkedAtMs = Number.NEGATIVE_INFINITY;
        throw error;
      }),

    /** Rejects with PostgreSQL's error if there is no space for new rows. */
    async check(query: Database["query"]): Promise<void> {
      if (monotonicMs() - checkedAtMs < SPACE_CHECK_MS) return;
      try {
        await query(SPACE_SQL);
      } catch (error) {
        // A role may lack the right to create temporary tables.
        if (isResourceError(error)) throw error;
      }
      checkedAtMs = monotonicMs();
    },
  };
}

/** One row. Times are in milliseconds since 1970, by the database's clock. `server` identifies the cluster and its timeline. */
export const DEPLOYMENT_TABLES = {
  deployment:
    "id INTEGER PRIMARY KEY, checked_at BIGINT NOT NULL, server TEXT NOT NULL, restored_from BIGINT, restored_to BIGINT",
};

/** The system identifier differs after a restore into a new cluster, the timeline after a restore to a point in time and a failover. */
const SERVER_SQL =
  "SELECT (SELECT system_identifier FROM pg_control_system()) || '/' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8) AS server";

/** A failover keeps the system identifier, takes less time, and loses no rows. */
const MAX_FAILOVER_MS = 60_000;
/**
 * True if the database lost rows, and the stored range ends before $2, the time of the last commit that this process has seen. A process
 * that has seen none compares the server: a restored backup has a row of another cluster, or an old row of another timeline.
 */
const HAS_LOST_ROWS = `CASE WHEN CAST($2 AS BIGINT) IS NULL
    THEN d.server <> '' AND $1 <> '' AND d.server <> $1 AND (split_part(d.server, '/', 1) <> split_part($1, '/', 1)
      OR d.checked_at < EXCLUDED.checked_at - ${MAX_FAILOVER_MS})
    ELSE d.checked_at < CAST($2 AS BIGINT) AND COALESCE(d.restored_to, 0) < CAST($2 AS BIGINT) END`;
const WRITE_SQL = `INSERT INTO deployment AS d (id, checked_at, server) VALUES (1, ${POSTGRES_CLOCK}, $1)
  ON CONFLICT (id) DO UPDATE SET checked_at = GREATEST(d.checked_at + 1, EXCLUDED.checked_at), server = $1,
    restored_from = CASE WHEN ${HAS_LOST_ROWS} THEN d.checked_at ELSE d.restored_from END,
    restored_to = CASE WHEN ${HAS_LOST_ROWS} THEN EXCLUDED.checked_at ELSE d.restored_to END
  RETURNING checked_at, restored_from, restored_to`;

const MarkerRow = z.object({ checked_at: z.int(), restored_from: z.int().nullable(), restored_to: z.int().nullable() });
const WRITE_TIMEOUT_MS = 5_000;

/** Creates a check that commits a row durably. It resolves with the time range that the database lost in a restore, if any. */
export function createDurableWrite(query: Database["query"]): () => Promise<TimeRange | undefined> {
  let lastSeen: number | null = null;
  /** A commit that waits for a replica is not repeated, because each one occupies a connection. */
  let writing: Promise<readonly DatabaseRow[]> | undefined;
  async function write(): Promise<readonly DatabaseRow[]> {
    // Some managed services do not permit this function.
    const [found] = await query(SERVER_SQL).catch(() => []);
    return await query(WRITE_SQL, [String(found?.["server"] ?? ""), lastSeen]);
  }
  return async () => {
    writing ??= write().finally(() => (writing = undefined));
    const [row] = await withTimeout(writing, {
      signal: new AbortController().signal,
      timeoutMs: WRITE_TIMEOUT_MS,
      timeoutError: () =>
        new Error(
          `a commit took more than ${WRITE_TIMEOUT_MS / 1_000} s; check the replicas and the disk of PostgreSQL`,
        ),
    });
    const { checked_at, restored_from, restored_to } = MarkerRow.parse(row);
    lastSeen = checked_at;
    return restored_from === null || restored_to === null
      ? undefined
      : { from: new Date(restored_from), to: new Date(restored_to) };
  };
}
