// The audit records which caller did what in a deployment. It contains no argument or body, and of reads only downloads.
import * as z from "zod/v4";
import type { Auditor } from "../core/hooks.ts";
import type { Database, SqlValue } from "../store/database.ts";
import { uncountRejectedJob } from "./job-limit.ts";

/** An audit event other than the end of an action, which `buildAuditedResolution` records. */
export interface AuditEvent {
  /** `refusal`: the caller lacked a right. `team`: a team was added, changed or removed. */
  readonly event: "refusal" | "download" | "team";
  readonly tool?: string;
  readonly key?: string;
  readonly resourceId?: string;
  /** One or two words, such as "insufficient_scope", "complete" or "added". */
  readonly outcome: string;
}

const COLUMNS = "at, event, caller, team, client, tool, key, resource_id, outcome, trace_id";

/**
 * Builds one statement that resolves an action, inserts its audit row and takes a rejected job back, so that none is written without the
 * others. Only PostgreSQL allows writes inside WITH; only a deployment for teams has an audit, and it uses PostgreSQL. `resolveSql` returns
 * the complete row that it resolves. Its parameters come first; `valueCount` is their number.
 */
export function buildAuditedResolution(resolveSql: string, valueCount: number, auditor: Auditor) {
  const parameter = (at: number): string => `CAST($${valueCount + at} AS TEXT)`;
  const team = parameter(2);
  return {
    sql: `WITH resolved AS (${resolveSql}), audited AS (
        INSERT INTO audit (${COLUMNS})
        SELECT updated_at, 'action', ${parameter(1)}, ${team}, ${parameter(3)}, tool, key, resource_id, state, ${parameter(4)} FROM resolved),
        uncounted AS (${uncountRejectedJob(team)})
      SELECT * FROM resolved`,
    values: [auditor.caller, auditor.team, auditor.client, auditor.traceId?.() ?? null],
  };
}

/** `timeSql` returns SQL for the current time; its parameter is this process's time (`now`, in milliseconds). */
export async function insertAuditEvent(
  query: Database["query"],
  timeSql: (parameter: string) => string,
  now: number,
  auditor: Auditor,
  { event, tool, key, resourceId, outcome }: AuditEvent,
): Promise<void> {
  const values: readonly SqlValue[] = [
    now,
    event,
    auditor.caller,
    auditor.team,
    auditor.client,
    tool ?? null,
    key ?? null,
    resourceId ?? null,
    outcome,
    auditor.traceId?.() ?? null,
  ];
  await query(`INSERT INTO audit (${COLUMNS}) VALUES (${timeSql("$1")}, $2, $3, $4, $5, $6, $7, $8, $9, $10)`, values);
}

const DAY_MS = 86_400_000;
/** Partitions are created this many days ahead, in case no instance runs for some time. */
const DAYS_AHEAD = 3;

const NowRow = z.object({ now: z.int() });

/** Creates the partitions of the next days, and drops those that are older than `retentionMs`. Run it in a transaction. */
export async function maintainPartitions(
  query: Database["query"],
  timeSql: string,
  retentionMs: number,
): Promise<void> {
  const [row] = await query(`SELECT ${timeSql} AS now`);
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
}
