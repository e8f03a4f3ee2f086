// The journal: every action, durable before its first byte is sent. Claims are atomic, so any number of processes share it.
import * as z from "zod/v4";
import { type AuditedEvent, type Auditor, auditedSettling, writeAudit } from "./audit.ts";
import { type Database, type DatabaseRow, isAnswerLost, type Value } from "./database.ts";
import type { ActionIdentity } from "./identity.ts";
import { migrate } from "./migrations.ts";
import { type ActionState, keptId, type NewAction, type Settlement, Stored, type StoredAction } from "./stored.ts";
import { createUnderway } from "./underway.ts";

export { ActionState, type NewAction, type Settlement, type StoredAction } from "./stored.ts";

/** Nobody waits long for a transaction of so many. */
const PRUNED_AT_ONCE = 1_000;

/** As many of the actions on one resource as are worth looking at. */
const MAX_ABOUT = 50;

/** Of a call of which it is not asked when it came. */
const NEVER = Number.MAX_SAFE_INTEGER;

const Instant = z.object({ at: z.int() });

const ANY_ABOUT = "SELECT 1 FROM actions WHERE service = $1 AND about = $2 LIMIT 1";

export type Journal = Awaited<ReturnType<typeof openJournal>>;

const IS_UNSETTLED = "state IN ('open', 'unknown')";

/**
 * Whether the same call without a key is this action: one that may not have been heard of, sent less than `repeatMs` ago at most; or
 * whatever was made since the call came, for an agent that has given it up may have called again, elsewhere, and have heard of that.
 */
const isStillSame = (now: string, repeatMs: string, cameAt: string): string =>
  `(delivered_at IS NULL OR (state = 'succeeded' AND heard_at IS NULL AND delivered_at > ${now} - ${repeatMs})
     OR (created_at > ${cameAt} AND created_at <= ${now}))`;

export interface JournalTerms {
  /** This process. */
  readonly owner: string;
  readonly now: () => number;
  /** A heartbeat makes a claim last so much longer. */
  readonly leaseMs: number;
  /** For so long after its outcome was last sent, the same call without a key is the same action. */
  readonly repeatMs: number;
  /** False: the tables are not brought forward here. */
  readonly migrates?: boolean;
}

/** Throws what the driver throws, NewerJournal or OlderJournal. */
export async function openJournal(database: Database, { owner, now, leaseMs, repeatMs, migrates }: JournalTerms) {
  await migrate(database, migrates);
  const { clock } = database;
  /** The instant: this process's own, given as this parameter, or the database's. */
  const instant = (parameter: string): string =>
    clock === undefined ? `CAST(${parameter} AS BIGINT)` : `COALESCE(${clock}, CAST(${parameter} AS BIGINT))`;
  const all = clock === undefined ? "*" : `*, ${clock} AS looked_at`;
  const read = (row: DatabaseRow): StoredAction => Stored.parse({ looked_at: now(), ...row });
  const one = ([row]: readonly DatabaseRow[]): StoredAction | undefined => row && read(row);
  const write = async (sql: string, values: readonly Value[]) => one(await database.query(sql, values));

  /** Where the answer to a write is lost, once more on another connection: `isOurs` knows what the first time has written. */
  async function surely(
    { service, key }: Pick<StoredAction, "service" | "key">,
    sql: string,
    values: readonly Value[],
    isOurs: (stored: StoredAction) => boolean,
  ): Promise<StoredAction | undefined> {
    try {
      return await write(sql, values);
    } catch (error) {
      if (!isAnswerLost(error)) throw error;
      const written = await write(sql, values);
      if (written) return written;
      const stored = await find(service, key);
      return stored?.owner === owner && isOurs(stored) ? stored : undefined;
    }
  }

  const find = (service: string, key: string) =>
    write(`SELECT ${all} FROM actions WHERE service = $1 AND key = $2`, [service, key]);

  /** `sql`: of this process's time, an age and how many. Others wait, so that none does the same. */
  async function forget(sql: string, ageMs: number): Promise<boolean> {
    let count = 0;
    await database.exclusively(async (query) => {
      count = (await query(sql, [now(), ageMs, PRUNED_AT_ONCE])).length;
    }, "prune");
    return count === PRUNED_AT_ONCE;
  }

  const heartbeat = () =>
    database.query(`UPDATE actions SET lease_until = ${instant("$2")} + $3 WHERE owner = $1 AND state = 'open'`, [
      owner,
      now(),
      leaseMs,
    ]);

  return {
    /**
     * Writes a new action, claimed by this process. Undefined when its key, or, for a key of our own making, another action that
     * the same call is about, is there already: see findSame and findReworded.
     */
    insert: (action: NewAction, cameAt = NEVER) =>
      surely(
        action,
        `INSERT INTO actions (service, key, tool, arguments, arguments_hash, subject_hash, work_hash, explicit, path, if_match,
           body, body_hash, state, in_doubt, attempts, owner, lease_until, outcome, repeatable, resource_id, created_at,
           updated_at, first_sent_at, delivered_at, about, wire_key)
         SELECT $1, $2, $3, $4, $5, $5, $6, $7, $8, $9, $10, $11, 'open', 0, 0, $12, ${instant("$14")} + $13, NULL, 0, NULL,
           ${instant("$14")}, ${instant("$14")}, ${instant("$14")}, NULL, $16, $17
         WHERE $7 = 1 OR NOT (
           EXISTS (SELECT 1 FROM actions WHERE service = $1 AND tool = $3 AND subject_hash = $5
             AND ${isStillSame(instant("$14"), "$15", "$18")})
           OR EXISTS (SELECT 1 FROM actions WHERE service = $1 AND tool = $3 AND work_hash = $6 AND ${IS_UNSETTLED}))
         ON CONFLICT DO NOTHING RETURNING ${all}`,
        [
          action.service,
          action.key,
          action.tool,
          action.arguments,
          action.subjectHash,
          action.workHash,
          action.explicit ? 1 : 0,
          action.path,
          action.ifMatch,
          action.body,
          action.bodyHash,
          owner,
          leaseMs,
          now(),
          repeatMs,
          keptId(action.about),
          action.wireKey ?? "",
          cameAt,
        ],
        ({ state, attempts, in_doubt }) => state === "open" && attempts === 0 && in_doubt === 0,
      ),

    find,

    /** Now, as actions are dated here: milliseconds since 1970. */
    async time(): Promise<number> {
      if (clock === undefined) return now();
      const [row] = await database.query(`SELECT ${instant("$1")} AS at`, [now()]);
      return Instant.parse(row).at;
    },

    /** The latest action that a call with this subject and without a key is about; `cameAt`: by `time`. */
    findSame: (service: string, tool: string, subjectHash: string, cameAt = NEVER) =>
      write(
        `SELECT ${all} FROM actions WHERE service = $1 AND tool = $2 AND subject_hash = $3
           AND ${isStillSame(instant("$4"), "$5", "$6")}
         ORDER BY created_at DESC LIMIT 1`,
        [service, tool, subjectHash, now(), repeatMs, cameAt],
      ),

    /** One of the same work with other notes, whose outcome is not known yet. */
    findReworded: (service: string, tool: string, { workHash, subjectHash }: ActionIdentity) =>
      write(
        `SELECT ${all} FROM actions WHERE service = $1 AND tool = $2 AND work_hash = $3 AND subject_hash <> $4 AND ${IS_UNSETTLED}
         ORDER BY created_at DESC LIMIT 1`,
        [service, tool, workHash, subjectHash],
      ),

    /** The action that made this resource; the first one, where several answers named it. */
    findByResource: (service: string, resourceId: string) =>
      write(`SELECT ${all} FROM actions WHERE service = $1 AND resource_id = $2 ORDER BY created_at LIMIT 1`, [
        service,
        keptId(resourceId),
      ]),

    /** The actions on a resource, what is not settled first, then what succeeded; the latest first. */
    findAbout: async (service: string, aboutId: string): Promise<readonly StoredAction[]> => {
      // Asked whenever a job is read, and nearly always there is none: a list, even an empty one, costs eight times as much.
      const named = [service, keptId(aboutId)];
      if ((await database.query(ANY_ABOUT, named)).length === 0) return [];
      const sql = `SELECT ${all} FROM actions WHERE service = $1 AND about = $2
         ORDER BY CASE state WHEN 'rejected' THEN 2 WHEN 'succeeded' THEN 1 ELSE 0 END, created_at DESC LIMIT $3`;
      return (await database.query(sql, [...named, MAX_ABOUT])).map(read);
    },

    /**
     * Takes an action over that nobody works on: unknown, repeatable, or open where `isDead` is certain of the owner that
     * `stored` names, who has not moved since. Its outcome is undelivered from now on.
     */
    claim: ({ service, key, owner: holder, lease_until }: StoredAction, isDead: boolean) =>
      surely(
        { service, key },
        `UPDATE actions SET state = 'open', owner = $3, lease_until = ${instant("$5")} + $4, updated_at = ${instant("$5")},
           -- Whoever left it open has sent it at least once, for all anybody knows.
           attempts = attempts + CASE WHEN state = 'open' THEN 1 ELSE 0 END,
           in_doubt = CASE WHEN state = 'rejected' THEN 0 ELSE 1 END,
           first_sent_at = CASE WHEN state = 'rejected' THEN ${instant("$5")} ELSE first_sent_at END,
           -- Delivered once, it may have a younger twin, which goes on having the subject for itself.
           explicit = CASE WHEN delivered_at IS NULL THEN explicit ELSE 1 END, delivered_at = NULL
         WHERE service = $1 AND key = $2
           AND (state = 'unknown' OR (state = 'rejected' AND repeatable = 1)
             OR (state = 'open' AND $6 = 1 AND owner = $7 AND lease_until = $8))
         RETURNING ${all}`,
        [service, key, owner, leaseMs, now(), isDead ? 1 : 0, holder, lease_until],
        ({ state }) => state === "open",
      ),

    /** Ends this process's claim. Undefined when another process had taken it over. `auditor`: with a row in the audit. */
    settle(
      { service, key }: StoredAction,
      { state, attempts, outcome, repeatable, resourceId }: Settlement,
      auditor?: Auditor,
    ): Promise<StoredAction | undefined> {
      const settling = `UPDATE actions SET state = $3, attempts = $4, outcome = $5, repeatable = $6, resource_id = $7,
           updated_at = ${instant("$8")}, lease_until = 0
         WHERE service = $1 AND key = $2 AND owner = $9 AND state = 'open' RETURNING ${all}`;
      const kept = resourceId === undefined ? null : keptId(resourceId);
      const values = [service, key, state, attempts, outcome ?? null, repeatable ? 1 : 0, kept, now(), owner];
      const audited = auditor && auditedSettling(settling, values.length, auditor);
      return surely(
        { service, key },
        audited?.sql ?? settling,
        [...values, ...(audited?.values ?? [])],
        (stored) => stored.state === state && stored.attempts === attempts && stored.outcome === (outcome ?? null),
      );
    },

    /**
     * The outcome has been sent to the agent; of one that has been taken up again since it is not the outcome any more.
     * Should a power cut take this away, the outcome is sent once more: nothing happens twice.
     */
    markSent: async ({ service, key, state, attempts }: StoredAction) =>
      one(
        await database.querySoon(
          `UPDATE actions SET delivered_at = ${instant("$5")} WHERE service = $1 AND key = $2 AND state = $3 AND attempts = $4
             AND state IN ('succeeded', 'rejected') RETURNING ${all}`,
          [service, key, state, attempts, now()],
        ),
      ),

    /** Everything this process is working on stays its own for another lease. */
    heartbeat,

    /** What this process is working on, whoever's it is. */
    underway: createUnderway(heartbeat),

    /** Newest first: of one service, or of all where it is not known which; in one of these states. */
    list: async (
      service: string | undefined,
      states: readonly ActionState[],
      limit: number,
    ): Promise<readonly StoredAction[]> => {
      // As words, in the order of their index: with parameters the database would look through all that is settled.
      const asked = [...states]
        .sort()
        .map((state) => `'${state}'`)
        .join(", ");
      // Said so, SQLite goes by time: by an index on `service` it would gather all actions of the service, and sort them.
      const mine = service === undefined ? "" : "AND NOT service <> $2";
      const sql = `SELECT ${all} FROM actions WHERE state IN (${asked}) ${mine}
         ORDER BY updated_at DESC, created_at DESC LIMIT $1`;
      const values = [limit, ...(service === undefined ? [] : [service])];
      return (await database.query(sql, values)).map(read);
    },

    /** Forgets what was settled and has not changed for so long, some of it at a time; what is unknown stays. False when it is done. */
    prune: (retentionMs: number): Promise<boolean> =>
      forget(
        `DELETE FROM actions WHERE (service, key) IN (SELECT service, key FROM actions
           WHERE state IN ('succeeded', 'rejected') AND updated_at < ${instant("$1")} - $2 LIMIT $3) RETURNING key`,
        retentionMs,
      ),

    /** Writes into the audit what is no action. */
    audit: (auditor: Auditor, event: AuditedEvent): Promise<void> =>
      writeAudit(database.query, instant, now(), auditor, event),

    /** Forgets rows of the audit that are so old, some at a time. False when it is done. */
    pruneAudit: (auditMs: number): Promise<boolean> =>
      forget(
        `DELETE FROM audit WHERE id IN (SELECT id FROM audit WHERE at < ${instant("$1")} - $2 LIMIT $3) RETURNING id`,
        auditMs,
      ),

    owner,
    close: () => database.close(),
  };
}
