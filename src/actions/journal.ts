// The journal records every action on disk before its first byte is sent. Claims are atomic, so any number of processes can share it.
import * as z from "zod/v4";
import { MAX_BINDINGS } from "../contract/endpoints/bodies.ts";
import { toReport } from "../core/failure.ts";
import { type Database, type DatabaseRow, isResponseLost, type SqlValue } from "../store/database.ts";
import { neverSentFailure } from "./action-failures.ts";
import type { Statement } from "./action-observer.ts";
import {
  ActionRow,
  type NewAction,
  type Resolution,
  type StoredAction,
  StoredId,
  stringifyOutcome,
  toStoredId,
} from "./action-row.ts";
import { createInFlightActions, createLostClaims, LEASE_MS, LOST_AFTER_MS } from "./claims.ts";
import { hasServiceSql, liveSql } from "./deduplication-window.ts";
import {
  type ActionIdentity,
  type InputReference,
  type InputReferences,
  parseCanonicalArguments,
} from "./fingerprint.ts";
import { createJournalReads } from "./journal-reads.ts";
import { IS_CHANGED_BY_LATER_VERSION, migrateSchema, readJournalVersion } from "./schema.ts";

export { ActionState, type NewAction, type Resolution, type StoredAction } from "./action-row.ts";

/** One transaction deletes at most this many rows, so that other transactions do not wait long. */
const PRUNE_BATCH_SIZE = 1_000;

/** A registration that a job uses is marked as changed after half of the shortest retention. So it is kept as long as the job. */
const RENEW_REGISTRATION_MS = 43_200_000;

const NameRow = z.object({ service: z.string(), key: z.string() });
const LiveRow = z.object({ is_live: z.int() });
const RegistrationRow = z.object({
  key: z.string(),
  tool: z.literal("register_input"),
  state: z.literal("succeeded"),
  arguments: z.string(),
  updated_at: z.int(),
  resource_id: StoredId,
});
const ReferenceArguments = z.object({ inputKind: z.string(), referenceId: z.string() });

// Selects the actions that created the inputs of a job. Code filters them by tool, so that a database never reads all registrations of the
// service. The number of placeholders is always the same, so that a database prepares the query only once.
const REGISTRATIONS_SQL = `SELECT key, tool, state, arguments, updated_at, resource_id FROM actions
   WHERE service = $1 AND resource_id IN (${Array.from({ length: MAX_BINDINGS }, (_, index) => `$${index + 2}`).join(", ")})`;

export type Journal = Awaited<ReturnType<typeof openJournal>>;

type Fingerprints = Pick<ActionIdentity, "fingerprint" | "boundFingerprint">;

/** The latest action with a fingerprint. `isLive`: a call without a key refers to it. If false, it succeeded before the window. */
export interface LatestAction {
  readonly action: StoredAction;
  readonly isLive: boolean;
}

export interface OpenJournalOptions {
  /** The name of this process as an owner (src/core/owner.ts). */
  readonly owner: string;
  readonly now: () => number;
  /** If false, this process does not create or change the tables (MIC_MIGRATE=off). Default: true. */
  readonly migrates?: boolean;
  /** Called before a row is inserted, claimed or resolved. The returned function receives the row when its commit is confirmed. */
  readonly onWrite?: () => (row: StoredAction) => void;
}

/** Opens the journal in a database, and migrates its tables. Throws the database's errors and UnusableTables. */
export async function openJournal(database: Database, { owner, now, migrates, onWrite }: OpenJournalOptions) {
  await migrateSchema(database, migrates);
  const { clock } = database;
  /** Returns SQL for the current time: by the database's clock, or this process's time in `parameter`. */
  const timeSql = (parameter: string): string =>
    clock === undefined ? `CAST(${parameter} AS BIGINT)` : `COALESCE(${clock}, CAST(${parameter} AS BIGINT))`;
  const columns = clock === undefined ? "*" : `*, ${clock} AS read_at`;
  const read = (row: DatabaseRow): StoredAction => ActionRow.parse({ read_at: now(), ...row });
  const readFirst = ([row]: readonly DatabaseRow[]): StoredAction | undefined => row && read(row);
  const queryOne = async (sql: string, values: readonly SqlValue[]) => readFirst(await database.query(sql, values));

  /** Runs a write, and repeats it if the connection broke before the response. `isOwnWrite` recognizes the row that the first one wrote. */
  async function writeWithRetry(
    { service, key }: Pick<StoredAction, "service" | "key">,
    sql: string,
    values: readonly SqlValue[],
    isOwnWrite: (stored: StoredAction) => boolean,
    onLost = (): void => undefined,
  ): Promise<StoredAction | undefined> {
    const confirm = onWrite?.();
    const repeat = async () => {
      const rewritten = await queryOne(sql, values);
      if (rewritten) return rewritten;
      const stored = await find(service, key);
      return stored?.owner === owner && isOwnWrite(stored) ? stored : undefined;
    };
    const written = await queryOne(sql, values).catch((error: unknown) => {
      if (!isResponseLost(error)) throw error;
      return repeat().catch((repeatError: unknown) => {
        onLost();
        throw repeatError;
      });
    });
    if (written) confirm?.(written);
    return written;
  }

  /** Like `writeWithRetry`, for a statement that claims an action. A claim that fails after a lost answer may still be made. */
  async function writeClaim(
    action: Pick<StoredAction, "service" | "key">,
    ...write: [sql: string, values: readonly SqlValue[], isOwnWrite: (stored: StoredAction) => boolean]
  ): Promise<StoredAction | undefined> {
    const claimed = await writeWithRetry(action, ...write, () => lostClaims.add(action));
    if (claimed) lostClaims.remove(action);
    return claimed;
  }

  /** Ends the actions of lost claims, which were never sent. An action that is claimed again is indeterminate, or its row is new. */
  async function withdrawLostClaims(): Promise<void> {
    const condition = `owner = $1 AND state = 'in_progress' AND state IN ('in_progress', 'unknown') AND indeterminate = 0
       AND updated_at < ${timeSql("$2")} - ${LOST_AFTER_MS}`;
    const rows = await database.query(`SELECT service, key FROM actions WHERE ${condition}`, [owner, now()]);
    const withdrawSql = `UPDATE actions SET state = 'rejected', outcome = $5, slot = 0, lease_until = 0, updated_at = ${timeSql("$2")}
       WHERE service = $3 AND key = $4 AND ${condition} RETURNING key`;
    const outcome = stringifyOutcome({ failure: toReport(neverSentFailure().facts) });
    for (const action of rows.map((row) => NameRow.parse(row))) {
      if (!lostClaims.has(action) || inFlight.has(action)) continue;
      await database.query(withdrawSql, [owner, now(), action.service, action.key, outcome]);
      lostClaims.remove(action);
    }
  }
  const lostClaims = createLostClaims(withdrawLostClaims);

  const find = (service: string, key: string) =>
    queryOne(`SELECT ${columns} FROM actions WHERE service = $1 AND key = $2`, [service, key]);

  const heartbeat = () =>
    database.query(
      // The last condition selects the index of unresolved actions, which are few.
      `UPDATE actions SET lease_until = ${timeSql("$2")} + $3
       WHERE owner = $1 AND state = 'in_progress' AND state IN ('in_progress', 'unknown')`,
      [owner, now(), LEASE_MS],
    );

  /** The actions that this process works on, for all callers. */
  const inFlight = createInFlightActions(heartbeat);

  /** SQL condition: `row` is an action of $1, the service, and $2, the tool, that has one of the fingerprints, $3 and $4. */
  const isIdenticalSql = (row: string) =>
    `${hasServiceSql(row, "$1")} AND ${row}.tool = $2 AND (${row}.fingerprint = $3 OR ${row}.bound_fingerprint = $4)`;
  const identicalValues = (service: string, tool: string, { fingerprint, boundFingerprint }: Fingerprints) =>
    [service, tool, fingerprint, boundFingerprint] as const;

  const insertInto = `INSERT INTO actions (service, tool, fingerprint, bound_fingerprint, key, upstream_key, arguments, about, path, if_match,
       body, owner, lease_until, created_at, first_sent_at, updated_at, first_sent_api_at, slot, state,
       indeterminate, attempts)
     SELECT $1, $2, $3, CAST($4 AS TEXT), $5, $6, $7, $8, $9, $10, $11, $12, ${timeSql("$13")} + ${LEASE_MS}, ${timeSql("$13")}, ${timeSql("$13")},
       ${timeSql("$13")}, CAST($14 AS BIGINT)`;

  const insertExplicit = `${insertInto}, 0, 'in_progress', 0, 0
     WHERE NOT ${IS_CHANGED_BY_LATER_VERSION}
     ON CONFLICT DO NOTHING RETURNING ${columns}`;

  // A lookup before the insert cannot exclude a second process; the unique indexes of the slot do.
  const insertUnlessLive = `${insertInto}, 1, 'in_progress', 0, 0
     WHERE NOT ${IS_CHANGED_BY_LATER_VERSION}
       AND NOT EXISTS (SELECT 1 FROM actions AS a WHERE ${isIdenticalSql("a")} AND ${liveSql("a", timeSql("$13"))})
     ON CONFLICT DO NOTHING RETURNING ${columns}`;

  /** Takes the slots of identical actions that can no longer be replayed. Returns true if there was one. */
  async function releaseSlots(identical: readonly SqlValue[]): Promise<boolean> {
    const sql = `UPDATE actions SET slot = 0 WHERE ${isIdenticalSql("actions")} AND slot = 1 AND NOT ${liveSql("actions", timeSql("$5"))}
       RETURNING key`;
    return (await database.query(sql, [...identical, now()])).length > 0;
  }

  return {
    /**
     * Records a new action, claimed by this process. Returns undefined if its key already exists or, for a key that mic-mcp generated, if
     * another action with its fingerprint is live. Throws NewerJournal if a later mic-mcp has changed the tables.
     */
    async insert(action: NewAction): Promise<StoredAction | undefined> {
      const identical = identicalValues(action.service, action.tool, action);
      const values = [
        ...identical,
        action.key,
        action.upstreamKey ?? "",
        action.arguments,
        toStoredId(action.targetId),
        action.path,
        action.ifMatch,
        action.body,
        owner,
        now(),
        action.apiNow ?? null,
      ];
      for (;;) {
        const written = await writeClaim(
          action,
          action.isExplicit ? insertExplicit : insertUnlessLive,
          values,
          ({ state, attempts, indeterminate }) => state === "in_progress" && attempts === 0 && indeterminate === 0,
        );
        if (written) return written;
        await readJournalVersion(database.query);
        if (action.isExplicit || !(await releaseSlots(identical))) return undefined;
      }
    },

    find,

    /** Returns the latest identical action that was not rejected: a live one, else the latest success. */
    async findLatest(service: string, tool: string, identity: Fingerprints): Promise<LatestAction | undefined> {
      const [row] = await database.query(
        `SELECT ${columns}, CASE WHEN ${liveSql("a", timeSql("$5"))} THEN 1 ELSE 0 END AS is_live FROM actions AS a
         WHERE ${isIdenticalSql("a")} AND a.state <> 'rejected' ORDER BY is_live DESC, a.created_at DESC LIMIT 1`,
        [...identicalValues(service, tool, identity), now()],
      );
      return row && { action: read(row), isLive: LiveRow.parse(row).is_live === 1 };
    },

    /** Returns the action with this key, else the latest identical action without a known outcome. */
    findNamedOrUnresolved: (service: string, tool: string, identity: Fingerprints, key: string) =>
      queryOne(
        `SELECT * FROM (SELECT ${columns} FROM actions WHERE service = $1 AND key = $5 UNION ALL SELECT * FROM
           (SELECT ${columns} FROM actions AS a WHERE ${isIdenticalSql("a")} AND a.state IN ('in_progress', 'unknown')
            ORDER BY a.created_at DESC LIMIT 1) AS unresolved) AS found ORDER BY key = $5 DESC LIMIT 1`,
        [...identicalValues(service, tool, identity), key],
      ),

    /** Returns the references of the inputs of one job that were registered through this journal. */
    async findReferences(service: string, inputIds: readonly string[]): Promise<InputReferences> {
      const found = new Map<string, InputReference>();
      const ids = Array.from({ length: MAX_BINDINGS }, (_, index) => toStoredId(inputIds[index] ?? ""));
      for (const row of await database.query(REGISTRATIONS_SQL, [service, ...ids])) {
        const registration = RegistrationRow.safeParse(row).data;
        if (!registration) continue;
        const { key, arguments: canonical, updated_at, resource_id } = registration;
        const { data: reference } = ReferenceArguments.safeParse(parseCanonicalArguments(canonical));
        if (reference) found.set(resource_id, reference);
        if (now() - updated_at < RENEW_REGISTRATION_MS) continue;
        const renewSql = `UPDATE actions SET updated_at = ${timeSql("$3")} WHERE service = $1 AND key = $2`;
        await database.query(renewSql, [service, key, now()]);
      }
      return found;
    },

    /**
     * Claims an action that no process works on. It is unknown or rejected or, if `isDead`, in progress with the owner and lease of the
     * given row. Returns undefined if another process was faster. `apiNow`: the time by the API's clock, if it is known. Throws
     * NewerJournal if a later mic-mcp has changed the tables.
     */
    async claim(stored: StoredAction, isDead: boolean, apiNow?: number): Promise<StoredAction | undefined> {
      const { service, key, owner: holder, lease_until } = stored;
      const sql = `UPDATE actions SET state = 'in_progress', owner = $3, lease_until = ${timeSql("$5")} + $4, updated_at = ${timeSql("$5")},
           -- A dead owner may have sent it once more than it recorded.
           attempts = attempts + CASE WHEN state = 'in_progress' THEN 1 ELSE 0 END,
           indeterminate = CASE WHEN state = 'rejected' THEN 0 ELSE 1 END,
           first_sent_at = CASE WHEN state = 'rejected' THEN ${timeSql("$5")} ELSE first_sent_at END,
           first_sent_api_at = CASE WHEN state = 'rejected' THEN CAST($9 AS BIGINT) ELSE first_sent_api_at END
         WHERE service = $1 AND key = $2
           AND (state IN ('unknown', 'rejected') OR (state = 'in_progress' AND $6 = 1 AND owner = $7 AND lease_until = $8))
           AND NOT ${IS_CHANGED_BY_LATER_VERSION}
         RETURNING ${columns}`;
      const values = [service, key, owner, LEASE_MS, now(), isDead ? 1 : 0, holder, lease_until, apiNow ?? null];
      const isOwnClaim = ({ state }: StoredAction): boolean => state === "in_progress";
      const claimed = await writeClaim(stored, sql, values, isOwnClaim);
      if (!claimed) await readJournalVersion(database.query);
      return claimed;
    },

    /** Undefined if another process has taken the action over. `complete`: see `end` of the observer. */
    resolve(
      { service, key }: Pick<StoredAction, "service" | "key">,
      { state, attempts, outcome, createdId, apiNow }: Resolution,
      complete: (resolve: Statement) => Statement = (resolve) => resolve,
    ): Promise<StoredAction | undefined> {
      const resolveSql = `UPDATE actions SET state = $3, attempts = $4, outcome = $5, resource_id = $6, updated_at = ${timeSql("$7")},
           resolved_at = CASE WHEN $3 = 'succeeded' THEN ${timeSql("$7")} END,
           slot = CASE WHEN $3 = 'rejected' THEN 0 ELSE slot END, lease_until = 0,
           first_sent_api_at = COALESCE(first_sent_api_at, CAST($9 AS BIGINT) - (${timeSql("$7")} - first_sent_at))
         WHERE service = $1 AND key = $2 AND owner = $8 AND state = 'in_progress' RETURNING ${columns}`;
      const storedResourceId = createdId === undefined ? null : toStoredId(createdId);
      const values = [service, key, state, attempts, outcome ?? null, storedResourceId, now(), owner, apiNow ?? null];
      const statement = complete({ sql: resolveSql, values });
      return writeWithRetry(
        { service, key },
        statement.sql,
        statement.values,
        (stored) => stored.state === state && stored.attempts === attempts && stored.outcome === (outcome ?? null),
      );
    },

    heartbeat,

    inFlight,

    ...createJournalReads({ query: database.query, columns, read, timeSql, now }),

    /** Deletes one batch of the actions that have not changed for `retentionMs`, in any state. Returns false if none is left. */
    async prune(retentionMs: number): Promise<boolean> {
      let count = 0;
      await database.withExclusiveTransaction(async (run) => {
        const sql = `DELETE FROM actions WHERE (service, key) IN (SELECT service, key FROM actions
           WHERE updated_at < ${timeSql("$1")} - $2 LIMIT $3) RETURNING key`;
        count = (await run(sql, [now(), retentionMs, PRUNE_BATCH_SIZE])).length;
      }, "prune");
      return count === PRUNE_BATCH_SIZE;
    },

    owner,
    close: () => database.close(),
  };
}
