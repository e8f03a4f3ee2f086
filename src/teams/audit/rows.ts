// Stores the audit, which records which caller did what. It contains no argument or body, and of reads only downloads.
import * as z from "zod/v4";
import type { Statement } from "../../actions/action-observer.ts";
import { type Database, POSTGRES_CLOCK } from "../../store/database.ts";

/** One caller of a team, through one OAuth client, as named in audit rows. */
export interface Auditor {
  /** The SHA-256 of issuer and subject. */
  readonly caller: string;
  /** Empty for a caller without a team. */
  readonly team: string;
  readonly client: string;
  /** Returns the trace id of the current call. */
  readonly traceId?: () => string | undefined;
}

/** An audit event other than the end of an action, which `auditResolution` records. */
export interface AuditEvent {
  /** `refusal`: the caller lacked a right. `team`: a team was added, changed or removed. */
  readonly event: "refusal" | "download" | "team";
  readonly tool?: string;
  readonly key?: string;
  readonly resourceId?: string;
  /** One or two words, such as "insufficient_scope", "complete" or "added". */
  readonly outcome: string;
}

/** The audit has a partition for each day; the default one has rows of days without a partition. */
export const AUDIT_TABLES: readonly string[] = [
  `CREATE TABLE IF NOT EXISTS audit (
     at BIGINT NOT NULL, event TEXT NOT NULL, caller TEXT NOT NULL, team TEXT NOT NULL, client TEXT NOT NULL,
     tool TEXT, key TEXT, resource_id TEXT, outcome TEXT NOT NULL, trace_id TEXT) PARTITION BY RANGE (at)`,
  "CREATE INDEX IF NOT EXISTS audit_by_time ON audit (at)",
  "CREATE INDEX IF NOT EXISTS audit_by_resource ON audit (resource_id) WHERE resource_id IS NOT NULL",
  "CREATE TABLE IF NOT EXISTS audit_default PARTITION OF audit DEFAULT",
];

const COLUMNS = "at, event, caller, team, client, tool, key, resource_id, outcome, trace_id";

/**
 * Returns a function that makes one statement from the one that resolves an action and returns its row: it also inserts the audit row, so
 * that neither is written without the other. The trace id is that of the current call.
 */
export function auditResolution({ caller, team, client, traceId }: Auditor): (resolve: Statement) => Statement {
  const auditor = [caller, team, client, traceId?.() ?? null];
  return ({ sql, values }) => {
    const parameter = (at: number): string => `CAST($${values.length + at} AS TEXT)`;
    return {
      sql: `WITH resolved AS (${sql}), audited AS (
        INSERT INTO audit (${COLUMNS})
        SELECT updated_at, 'action', ${parameter(1)}, ${parameter(2)}, ${parameter(3)}, tool, key, resource_id, state, ${parameter(4)} FROM resolved)
      SELECT * FROM resolved`,
      values: [...values, ...auditor],
    };
  };
}

/** The trace id is that of the current call, also if the row is written after its end. */
export async function insertAuditEvent(
  { query }: Pick<Database, "query">,
  { caller, team, client, traceId }: Auditor,
  { event, tool, key, resourceId, outcome }: AuditEvent,
): Promise<void> {
  await query(`INSERT INTO audit (${COLUMNS}) VALUES (${POSTGRES_CLOCK}, $1, $2, $3, $4, $5, $6, $7, $8, $9)`, [
    event,
    caller,
    team,
    client,
    tool ?? null,
    key ?? null,
    resourceId ?? null,
    outcome,
    traceId?.() ?? null,
  ]);
}

const DAY_MS = 86_400_000;
/** Partitions are created this many days ahead, in case no instance runs for some time. */
const DAYS_AHEAD = 3;
/** One transaction deletes at most this many rows, so that other transactions do not wait long. */
const PRUNE_BATCH_SIZE = 1_000;
/** Two instances do not maintain or prune at the same time. */
const LOCK = "prune";

const NowRow = z.object({ now: z.int() });

/** Creates the partitions of the next days, and drops those that are older than `retentionMs`. */
export const maintainPartitions = (database: Database, retentionMs: number): Promise<void> =>
  database.withExclusiveTransaction(async (query) => {
    const [row] = await query(`SELECT ${POSTGRES_CLOCK} AS now`);
    const today = Math.floor(NowRow.parse(row).now / DAY_MS) * DAY_MS;
    const rows = await query(
      "SELECT inhrelid::regclass::text AS name FROM pg_inherits WHERE inhparent = 'audit'::regclass",
    );
    const existing = new Set(rows.map(({ name }) => String(name)));
    for (let day = today; day <= today + DAYS_AHEAD * DAY_MS; day += DAY_MS) {
      const name = `audit_${new Date(day).toISOString().slice(0, 10).replaceAll("-", "")}`;
      if (existing.has(name)) continue;
      // Rows of this day may be in the default partition. They cannot stay there if the day gets its own.
      const [{ count } = {}] = await query("SELECT COUNT(*) AS count FROM audit_default WHERE at >= $1 AND at < $2", [
        day,
        day + DAY_MS,
      ]);
      if (Number(count) === 0)
        await query(`CREATE TABLE ${name} PARTITION OF audit FOR VALUES FROM (${day}) TO (${day + DAY_MS})`);
    }
    for (const name of existing) {
      const [, year, month, day] = /^audit_(\d{4})(\d\d)(\d\d)$/.exec(name) ?? [];
      const endsAt = Date.parse(`${year}-${month}-${day}T00:00:00Z`) + DAY_MS;
      if (endsAt < today - retentionMs) await query(`DROP TABLE ${name}`);
    }
  }, LOCK);

/** Deletes one batch of old audit rows of days without a partition. Returns false if none is left. */
export async function pruneAudit(database: Database, retentionMs: number): Promise<boolean> {
  let count = 0;
  await database.withExclusiveTransaction(async (query) => {
    const sql = `DELETE FROM audit_default WHERE ctid IN (
        SELECT ctid FROM audit_default WHERE at < ${POSTGRES_CLOCK} - CAST($1 AS BIGINT) LIMIT ${PRUNE_BATCH_SIZE}) RETURNING at`;
    count = (await query(sql, [retentionMs])).length;
  }, LOCK);
  return count === PRUNE_BATCH_SIZE;
}

/** Creates the partitions of the next days, and deletes what is older than `retentionMs`. */
export async function maintainAudit(database: Database, retentionMs: number, isClosed = () => false): Promise<void> {
  await maintainPartitions(database, retentionMs);
  while (!isClosed() && (await pruneAudit(database, retentionMs)));
}

const MAINTENANCE_INTERVAL_MS = 3_600_000;

/** Maintains the audit now and every hour. After an error, the next attempt is an hour later. The returned function ends that. */
export function startAuditMaintenance(database: Database, retentionMs: number): () => Promise<void> {
  let isClosed = false;
  // The role of the instances may lack the right to change the audit: then `mic-mcp teams migrate` maintains it.
  const maintain = () => maintainAudit(database, retentionMs, () => isClosed).catch(() => undefined);
  let running = maintain();
  const timer = setInterval(() => {
    running = maintain();
  }, MAINTENANCE_INTERVAL_MS).unref();
  return async () => {
    isClosed = true;
    clearInterval(timer);
    await running;
  };
}
