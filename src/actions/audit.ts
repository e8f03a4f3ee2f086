// Who did what, in a deployment for teams: facts alone, never an argument or a body. Nobody's reads are written down.
import { randomUUID } from "node:crypto";
import type { Auditor } from "../core/hooks.ts";
import type { Database, SqlValue } from "./store/database.ts";

/** What is written down beside actions, which their end writes down itself. */
export interface AuditEvent {
  /** `refusal`: for lack of a right. `team`: a team was added, changed or removed. */
  readonly event: "refusal" | "download" | "team";
  readonly tool?: string;
  readonly key?: string;
  readonly resourceId?: string;
  /** In a word or two: "insufficient_scope", "complete", "added". */
  readonly outcome: string;
}

const COLUMNS = "id, at, event, caller, team, client, tool, key, resource_id, outcome, trace_id";

/**
 * The end of an action and its row in one statement, so that there is no end without a row, nor a row without an end. PostgreSQL alone has
 * writes inside of WITH; only a deployment for teams has an audit, and it has PostgreSQL. `resolving` returns the whole row that it resolves;
 * its parameters come first, `values` is how many they are.
 */
export function buildAuditedResolution(resolveSql: string, valueCount: number, auditor: Auditor) {
  const [id, caller, team, client, trace] = [1, 2, 3, 4, 5].map((at) => `CAST($${valueCount + at} AS TEXT)`);
  return {
    sql: `WITH resolved AS (${resolveSql}), audited AS (
        INSERT INTO audit (${COLUMNS})
        SELECT ${id}, updated_at, 'action', ${caller}, ${team}, ${client}, tool, key, resource_id, state, ${trace} FROM resolved)
      SELECT * FROM resolved`,
    values: [randomUUID(), auditor.caller, auditor.team, auditor.client, auditor.traceId?.() ?? null],
  };
}

/** `instant`: SQL for the time, of a parameter with our own. */
export async function insertAuditEvent(
  query: Database["query"],
  timeSql: (parameter: string) => string,
  now: number,
  auditor: Auditor,
  { event, tool, key, resourceId, outcome }: AuditEvent,
): Promise<void> {
  const values: readonly SqlValue[] = [
    randomUUID(),
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
  await query(
    `INSERT INTO audit (${COLUMNS}) VALUES ($1, ${timeSql("$2")}, $3, $4, $5, $6, $7, $8, $9, $10, $11)`,
    values,
  );
}
