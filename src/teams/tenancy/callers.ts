// Stores the users behind the hashes of the journal and the audit, and which of them are blocked. For an operator, reads and erases what the
// database has of one user.
import * as z from "zod/v4";
import { StoredId } from "../../actions/action-row.ts";
import { DEDUPLICATION_WINDOW_MS } from "../../actions/deduplication-window.ts";
import { BoundedMap } from "../../core/bounded-map.ts";
import { type Database, POSTGRES_CLOCK } from "../../store/database.ts";
import { callerId } from "../caller.ts";
import { createCallerServiceName } from "./caller-actions.ts";
import type { Member, Team } from "./teams.ts";

/** Users whose record this process remembers to have written. */
const MAX_RECORDED = 10_000;
const MAX_AUDIT_ROWS = 50;

const Row = z.object({ caller: z.string(), issuer: z.string(), subject: z.string() });
const AuditRow = z.object({
  at: z.int(),
  event: z.string(),
  outcome: z.string(),
  subject: z.string().nullable(),
  caller: z.string(),
  team: z.string(),
  client: z.string(),
  tool: z.string().nullable(),
  key: z.string().nullable(),
  resource_id: z.string().nullable(),
  trace_id: z.string().nullable(),
});
const ActionRow = z
  .object({
    tool: z.string(),
    key: z.string(),
    state: z.string(),
    arguments: z.string(),
    outcome: z.string().nullable(),
  })
  .extend({ resource_id: StoredId.nullable(), created_at: z.int(), updated_at: z.int() });
const CountRow = z.object({ count: z.coerce.number() });

const AUDIT_SQL = `SELECT a.at, a.event, a.caller, c.subject, a.team, a.client, a.tool, a.key, a.resource_id, a.outcome, a.trace_id
  FROM audit AS a LEFT JOIN callers AS c ON c.caller = a.caller`;

/** An action may be deleted when no identical call refers to it any more. */
const IS_OVER = `state IN ('succeeded', 'rejected') AND updated_at < ${POSTGRES_CLOCK} - ${DEDUPLICATION_WINDOW_MS}`;

export type Callers = ReturnType<typeof createCallers>;

export function createCallers({ query }: Pick<Database, "query">) {
  const recorded = new BoundedMap<string, true>(MAX_RECORDED);

  const servicesOf = (caller: string, teams: readonly Team[]): string =>
    JSON.stringify(
      teams.map(({ baseUrl, clientId }) => createCallerServiceName(JSON.stringify([baseUrl, clientId]), caller)),
    );

  return {
    /** Records who a caller is. Never rejects; after a failure, the next call of the caller tries again. */
    async record({ issuer, subject }: Member): Promise<void> {
      const caller = callerId(issuer, subject);
      if (recorded.get(caller)) return;
      recorded.set(caller, true);
      const sql = "INSERT INTO callers (caller, issuer, subject) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING";
      await query(sql, [caller, issuer, subject]).catch(() => recorded.delete(caller));
    },

    /** The known callers of these teams, by their services in the journal. */
    async findByService(teams: readonly Team[]): Promise<ReadonlyMap<string, z.infer<typeof Row> & { team: string }>> {
      const rows = (await query("SELECT caller, issuer, subject FROM callers")).map((row) => Row.parse(row));
      return new Map(
        teams.flatMap(({ name: team, baseUrl, clientId }) =>
          rows.map((row) => [
            createCallerServiceName(JSON.stringify([baseUrl, clientId]), row.caller),
            { ...row, team },
          ]),
        ),
      );
    },

    /** A blocked user belongs to no team. All instances detect the change of the teams. */
    async setBlocked({ issuer, subject }: Member, isBlocked: boolean): Promise<void> {
      const blockedAt = isBlocked ? POSTGRES_CLOCK : "NULL";
      await query(
        `WITH changed AS (UPDATE teams SET changed_at = GREATEST(changed_at + 1, ${POSTGRES_CLOCK}))
         INSERT INTO callers (caller, issuer, subject, blocked_at) VALUES ($1, $2, $3, ${blockedAt})
         ON CONFLICT (caller) DO UPDATE SET blocked_at = ${blockedAt}`,
        [callerId(issuer, subject), issuer, subject],
      );
    },

    /** The latest rows of the audit about a resource, or of a caller. */
    async readAudit(column: "resource_id" | "caller", value: string, limit = MAX_AUDIT_ROWS) {
      const sql = `${AUDIT_SQL} WHERE a.${column} = $1 ORDER BY a.at DESC LIMIT $2`;
      return (await query(sql, [value, limit])).map((row) => AuditRow.parse(row));
    },

    /** The actions of one user in these teams, latest first. */
    async readActions({ issuer, subject }: Member, teams: readonly Team[]) {
      const sql = `SELECT tool, key, state, arguments, outcome, resource_id, created_at, updated_at FROM actions
        WHERE service IN (SELECT json_array_elements_text($1::json)) ORDER BY created_at DESC`;
      const rows = await query(sql, [servicesOf(callerId(issuer, subject), teams)]);
      return rows.map((row) => ActionRow.parse(row));
    },

    /** Deletes the user, their memberships and their actions, but not those that an identical call may refer to. Returns both numbers. */
    async erase({ issuer, subject }: Member, teams: readonly Team[]) {
      const caller = callerId(issuer, subject);
      const services = servicesOf(caller, teams);
      const isOwn = "service IN (SELECT json_array_elements_text($1::json))";
      await query("DELETE FROM team_members WHERE issuer = $1 AND subject = $2", [issuer, subject]);
      const erased = await query(`DELETE FROM actions WHERE ${isOwn} AND ${IS_OVER} RETURNING key`, [services]);
      const [left] = await query(`SELECT COUNT(*) AS count FROM actions WHERE ${isOwn}`, [services]);
      await query("DELETE FROM callers WHERE caller = $1 AND blocked_at IS NULL", [caller]);
      return { erased: erased.length, left: CountRow.parse(left).count };
    },
  };
}
