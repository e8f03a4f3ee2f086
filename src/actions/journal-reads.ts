// The reads of the journal for lists, counts and histories. The reads that decide about an action are in journal.ts.
import * as z from "zod/v4";
import { isOwnerDead } from "../core/owner.ts";
import type { Database, DatabaseRow } from "../store/database.ts";
import { ActionState, type StoredAction, toStoredId } from "./action-row.ts";
import { parseServiceName } from "./service-name.ts";

/** More unresolved actions than a list shows. */
const MAX_UNRESOLVED = 1_000;
/** More actions than any agent makes on one resource. */
const MAX_ROWS = 1_000;

export interface UnresolvedCounts {
  /** Actions in progress in a live process. */
  readonly inProgress: number;
  /** Actions that may have taken effect. */
  readonly unknown: number;
}

const CountRow = z.object({ state: ActionState, count: z.coerce.number() });
const UnresolvedCountRow = z.object({ owner: z.string(), count: z.coerce.number() });
const ServiceCountRow = z.object({ service: z.string(), count: z.coerce.number() });
const JobRow = z.object({ job: z.string() });

interface JournalReadsOptions {
  readonly query: Database["query"];
  /** The columns that `read` needs to parse a row. */
  readonly columns: string;
  readonly read: (row: DatabaseRow) => StoredAction;
  /** Returns SQL for the current time. Its parameter contains this process's time, which `now` returns in milliseconds. */
  readonly timeSql: (parameter: string) => string;
  readonly now: () => number;
}

export const createJournalReads = ({ query, columns, read, timeSql, now }: JournalReadsOptions) => ({
  /** Returns up to 1,000 unresolved actions of one service, or of all services, oldest first. */
  async listUnresolved(service: string | undefined): Promise<readonly StoredAction[]> {
    const rows = await query(
      `SELECT ${columns} FROM actions
     WHERE state IN ('in_progress', 'unknown') ${service === undefined ? "" : "AND service = $2"} ORDER BY created_at LIMIT $1`,
      [MAX_UNRESOLVED, ...(service === undefined ? [] : [service])],
    );
    return rows.map(read);
  },

  /** Returns the latest actions of one service, or of all services, in these states, latest first. */
  async listLatest(
    states: readonly ActionState[],
    service: string | undefined,
    limit: number,
  ): Promise<readonly StoredAction[]> {
    const serviceCondition = service === undefined ? "" : "AND service = $2";
    // A query for one state reads an index in its order; for several states, the database would sort all their rows.
    const found = await Promise.all(
      states.map((state) =>
        query(
          `SELECT ${columns} FROM actions WHERE state = '${state}' ${serviceCondition} ORDER BY updated_at DESC LIMIT $1`,
          [limit, ...(service === undefined ? [] : [service])],
        ),
      ),
    );
    return found
      .flatMap((rows) => rows.map(read))
      .sort((one, other) => other.updated_at - one.updated_at || other.created_at - one.created_at)
      .slice(0, limit);
  },

  async countByState(service: string | undefined): Promise<ReadonlyMap<ActionState, number>> {
    const serviceCondition = service === undefined ? "" : "WHERE service = $1";
    const sql = `SELECT state, COUNT(*) AS count FROM actions ${serviceCondition} GROUP BY state`;
    const rows = await query(sql, service === undefined ? [] : [service]);
    return new Map(rows.map((row) => CountRow.parse(row)).map(({ state, count }) => [state, count]));
  },

  /** Returns the actions on a resource and those that name it as created, in no order. */
  async listConcerning(service: string, id: string): Promise<readonly StoredAction[]> {
    // Two lookups in one statement, because SQLite uses no index for OR. The caller sorts: sorting in SQLite takes longer than the rest
    // of the query, and nearly every read of a job finds no row.
    const sql = `SELECT ${columns} FROM actions WHERE service = $1 AND about = $2
         UNION ALL SELECT ${columns} FROM actions WHERE service = $1 AND resource_id = $2 AND about <> $2 LIMIT ${MAX_ROWS}`;
    return (await query(sql, [service, toStoredId(id)])).map(read);
  },

  /** Returns the actions that name one of these resources as created, in no order. */
  async listCreators(service: string, ids: readonly string[]): Promise<readonly StoredAction[]> {
    const places = ids.map((_, index) => `$${index + 2}`).join(", ");
    const sql = `SELECT ${columns} FROM actions WHERE service = $1 AND resource_id IN (${places})`;
    return (await query(sql, [service, ...ids.map(toStoredId)])).map(read);
  },

  /** Returns the ids of the jobs that were created last, of all services, latest first. */
  async listRecentJobs(limit: number): Promise<readonly string[]> {
    const rows = await query(
      `SELECT resource_id AS job FROM actions WHERE state = 'succeeded' AND tool IN ('submit_job', 'retry_job')
     AND resource_id IS NOT NULL ORDER BY updated_at DESC LIMIT $1`,
      [limit],
    );
    return rows.map((row) => JobRow.parse(row).job);
  },

  async countUnresolved(): Promise<UnresolvedCounts> {
    // Groups actions in progress by owner, because the owner may be dead. Unknown actions and expired leases have the owner ''.
    const rows = await query(
      `SELECT owner, COUNT(*) AS count FROM
       (SELECT CASE WHEN state = 'in_progress' AND lease_until >= ${timeSql("$1")} THEN owner ELSE '' END AS owner
        FROM actions WHERE state IN ('in_progress', 'unknown')) AS unresolved GROUP BY owner`,
      [now()],
    );
    const counts = { inProgress: 0, unknown: 0 };
    for (const { owner, count } of rows.map((row) => UnresolvedCountRow.parse(row)))
      counts[owner === "" || isOwnerDead(owner) ? "unknown" : "inProgress"] += count;
    return counts;
  },

  /** Counts the unresolved actions of each client, the one with the oldest action first. */
  async countUnresolvedByClient() {
    const rows = await query(
      "SELECT service, COUNT(*) AS count FROM actions WHERE state IN ('in_progress', 'unknown') GROUP BY service ORDER BY MIN(created_at)",
    );
    return rows.map((row) => {
      const { service, count } = ServiceCountRow.parse(row);
      const [baseUrl, clientId] = parseServiceName(service);
      return { baseUrl, clientId, count };
    });
  },
});
