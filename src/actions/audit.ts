// The audit records which caller did what in a deployment for teams. It never contains an argument or a body, and the only reads
// in it are downloads.
import type { Auditor } from "../core/hooks.ts";
import type { Database, SqlValue } from "./store/database.ts";

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
 * Builds one statement that resolves an action and inserts its audit row, so that neither is written without the other. Only PostgreSQL
 * allows writes inside WITH; only a deployment for teams has an audit, and it uses PostgreSQL. `resolveSql` returns the complete row that
 * it resolves. Its parameters come first; `valueCount` is their number.
 */
export function buildAuditedResolution(resolveSql: string, valueCount: number, auditor: Auditor) {
  const [caller, team, client, trace] = [1, 2, 3, 4].map((at) => `CAST($${valueCount + at} AS TEXT)`);
  return {
    sql: `WITH resolved AS (${resolveSql}), audited AS (
        INSERT INTO audit (${COLUMNS})
        SELECT updated_at, 'action', ${caller}, ${team}, ${client}, tool, key, resource_id, state, ${trace} FROM resolved)
      SELECT * FROM resolved`,
    values: [auditor.caller, auditor.team, auditor.client, auditor.traceId?.() ?? null],
  };
}

/**
 * Inserts an audit row. `timeSql` returns SQL for the current time; its parameter contains this process's time (`now`, in
 * milliseconds).
 */
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
