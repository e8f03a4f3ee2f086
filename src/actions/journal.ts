// The journal: every action, durable before its first byte is sent. Claims are atomic, so any number of processes share it.
import * as z from "zod/v4";
import type { Database, Value } from "./database.ts";
import type { ActionIdentity } from "./identity.ts";
import { migrate } from "./migrations.ts";

export const ActionState = z.enum(["open", "succeeded", "rejected", "unknown"]);
export type ActionState = z.infer<typeof ActionState>;

/** Begins an id that is kept as JSON. */
const AS_JSON = "\u001a";

/** An id as a database can keep it: the contract lets ids hold what none takes, NUL and lone surrogates. */
const keptId = (id: string): string =>
  id.startsWith(AS_JSON) || /[\0\p{Surrogate}]/u.test(id) ? AS_JSON + JSON.stringify(id) : id;

const KeptId = z.string().transform((kept) => (kept.startsWith(AS_JSON) ? String(JSON.parse(kept.slice(1))) : kept));

const Stored = z.object({
  service: z.string(),
  key: z.string(),
  wire_key: z.string(),
  tool: z.string(),
  arguments: z.string(),
  path: z.string(),
  if_match: z.string(),
  body: z.string(),
  state: ActionState,
  in_doubt: z.int(),
  attempts: z.int(),
  owner: z.string(),
  lease_until: z.int(),
  outcome: z.string().nullable(),
  repeatable: z.int(),
  resource_id: KeptId.nullable(),
  created_at: z.int(),
  first_sent_at: z.int(),
  updated_at: z.int(),
  delivered_at: z.int().nullable(),
  subject_hash: z.string(),
  about: KeptId,
});

/** One action as it stands in the journal. Times are milliseconds since 1970. `wire_key`: empty where the service knows it by `key`. */
export type StoredAction = z.infer<typeof Stored>;

export interface NewAction {
  readonly service: string;
  readonly key: string;
  /** The key on the wire, where that is another. */
  readonly wireKey?: string | undefined;
  readonly tool: string;
  readonly arguments: string;
  readonly subjectHash: string;
  readonly workHash: string;
  readonly about: string;
  readonly explicit: boolean;
  readonly path: string;
  readonly ifMatch: string;
  readonly body: string;
  readonly bodyHash: string;
}

export interface Settlement {
  readonly state: Exclude<ActionState, "open">;
  readonly attempts: number;
  readonly outcome: string | undefined;
  /** Nothing happened and nothing was decided: the same bytes may be sent again. */
  readonly repeatable: boolean;
  readonly resourceId: string | undefined;
}

/** As many of the actions on one resource as are worth looking at. */
const MAX_ABOUT = 50;

/** Names in one question: a database takes no number of values, and keeps a statement for each number. */
const MAX_NAMED = 100;

const ANY_ABOUT = "SELECT 1 FROM actions WHERE service = $1 AND about = $2 LIMIT 1";

const one = (rows: readonly unknown[]): StoredAction | undefined => rows.slice(0, 1).map((row) => Stored.parse(row))[0];

export type Journal = Awaited<ReturnType<typeof openJournal>>;

const IS_UNSETTLED = "state IN ('open', 'unknown')";

/** Whether the same call without a key is this action: `since` begins the time in which what was sent may not have been heard. */
const isStillSame = (since: string): string =>
  `(delivered_at IS NULL OR (state = 'succeeded' AND heard_at IS NULL AND delivered_at > ${since}))`;

const unheardSqls = new Map<number, string>();

/**
 * Successes that were sent and not heard of, by so many keys or ids. One question for each index: with OR between them SQLite
 * would look through all actions of the service.
 */
function unheardSql(count: number): string {
  const known = unheardSqls.get(count);
  if (known !== undefined) return known;
  const list = Array.from({ length: count }, (_, index) => `$${index + 2}`).join(", ");
  const by = (column: string) =>
    `SELECT key FROM actions WHERE service = $1 AND ${column} IN (${list})
       AND state = 'succeeded' AND heard_at IS NULL AND delivered_at IS NOT NULL`;
  const sql = `${by("key")} UNION ALL ${by("resource_id")}`;
  unheardSqls.set(count, sql);
  return sql;
}

export interface JournalTerms {
  /** This process. */
  readonly owner: string;
  readonly now: () => number;
  /** A heartbeat makes a claim last so much longer. */
  readonly leaseMs: number;
  /** For so long after its outcome was last sent, the same call without a key is the same action. */
  readonly repeatMs: number;
}

/** Throws what the driver throws, or NewerJournal. */
export async function openJournal(database: Database, { owner, now, leaseMs, repeatMs }: JournalTerms) {
  await migrate(database);
  const write = async (sql: string, values: readonly Value[]) => one(await database.query(sql, values));

  return {
    /**
     * Writes a new action, claimed by this process. Undefined when its key, or, for a key of our own making, another action that
     * the same call is about, is there already: see findSame and findReworded.
     */
    insert: (action: NewAction) =>
      write(
        `INSERT INTO actions (service, key, tool, arguments, arguments_hash, subject_hash, work_hash, explicit, path, if_match,
           body, body_hash, state, in_doubt, attempts, owner, lease_until, outcome, repeatable, resource_id, created_at,
           updated_at, first_sent_at, delivered_at, about, wire_key)
         SELECT $1, $2, $3, $4, $5, $5, $6, $7, $8, $9, $10, $11, 'open', 0, 0, $12, $13, NULL, 0, NULL, $14, $14, $14, NULL, $16, $17
         WHERE $7 = 1 OR NOT (
           EXISTS (SELECT 1 FROM actions WHERE service = $1 AND tool = $3 AND subject_hash = $5 AND ${isStillSame("$15")})
           OR EXISTS (SELECT 1 FROM actions WHERE service = $1 AND tool = $3 AND work_hash = $6 AND ${IS_UNSETTLED}))
         ON CONFLICT DO NOTHING RETURNING *`,
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
          now() + leaseMs,
          now(),
          now() - repeatMs,
          keptId(action.about),
          action.wireKey ?? "",
        ],
      ),

    find: (service: string, key: string) =>
      write("SELECT * FROM actions WHERE service = $1 AND key = $2", [service, key]),

    /** The latest action that a call with this subject and without a key is about. */
    findSame: (service: string, tool: string, subjectHash: string) =>
      write(
        `SELECT * FROM actions WHERE service = $1 AND tool = $2 AND subject_hash = $3 AND ${isStillSame("$4")}
         ORDER BY created_at DESC LIMIT 1`,
        [service, tool, subjectHash, now() - repeatMs],
      ),

    /** One of the same work with other notes, whose outcome is not known yet. */
    findReworded: (service: string, tool: string, { workHash, subjectHash }: ActionIdentity) =>
      write(
        `SELECT * FROM actions WHERE service = $1 AND tool = $2 AND work_hash = $3 AND subject_hash <> $4 AND ${IS_UNSETTLED}
         ORDER BY created_at DESC LIMIT 1`,
        [service, tool, workHash, subjectHash],
      ),

    /** The action that made this resource; the first one, where several answers named it. */
    findByResource: (service: string, resourceId: string) =>
      write("SELECT * FROM actions WHERE service = $1 AND resource_id = $2 ORDER BY created_at LIMIT 1", [
        service,
        keptId(resourceId),
      ]),

    /** The actions on a resource, what is not settled first, then what succeeded; the latest first. */
    findAbout: async (service: string, aboutId: string): Promise<readonly StoredAction[]> => {
      // Asked whenever a job is read, and nearly always there is none: a list, even an empty one, costs eight times as much.
      const named = [service, keptId(aboutId)];
      if ((await database.query(ANY_ABOUT, named)).length === 0) return [];
      const sql = `SELECT * FROM actions WHERE service = $1 AND about = $2
         ORDER BY CASE state WHEN 'rejected' THEN 2 WHEN 'succeeded' THEN 1 ELSE 0 END, created_at DESC LIMIT $3`;
      return (await database.query(sql, [...named, MAX_ABOUT])).map((row) => Stored.parse(row));
    },

    /**
     * Takes an action over that nobody works on: unknown, repeatable, or open where `isDead` is certain of the owner that
     * `stored` names, who has not moved since. Its outcome is undelivered from now on.
     */
    claim: ({ service, key, owner: holder, lease_until }: StoredAction, isDead: boolean) =>
      write(
        `UPDATE actions SET state = 'open', owner = $3, lease_until = $4, updated_at = $5,
           -- Whoever left it open has sent it at least once, for all anybody knows.
           attempts = attempts + CASE WHEN state = 'open' THEN 1 ELSE 0 END,
           in_doubt = CASE WHEN state = 'rejected' THEN 0 ELSE 1 END,
           first_sent_at = CASE WHEN state = 'rejected' THEN $5 ELSE first_sent_at END,
           -- Delivered once, it may have a younger twin, which goes on having the subject for itself.
           explicit = CASE WHEN delivered_at IS NULL THEN explicit ELSE 1 END, delivered_at = NULL
         WHERE service = $1 AND key = $2
           AND (state = 'unknown' OR (state = 'rejected' AND repeatable = 1)
             OR (state = 'open' AND $6 = 1 AND owner = $7 AND lease_until = $8))
         RETURNING *`,
        [service, key, owner, now() + leaseMs, now(), isDead ? 1 : 0, holder, lease_until],
      ),

    /** Ends this process's claim. Undefined when another process had taken it over. */
    settle: ({ service, key }: StoredAction, { state, attempts, outcome, repeatable, resourceId }: Settlement) =>
      write(
        `UPDATE actions SET state = $3, attempts = $4, outcome = $5, repeatable = $6, resource_id = $7,
           updated_at = $8, lease_until = 0
         WHERE service = $1 AND key = $2 AND owner = $9 AND state = 'open' RETURNING *`,
        [
          service,
          key,
          state,
          attempts,
          outcome ?? null,
          repeatable ? 1 : 0,
          resourceId === undefined ? null : keptId(resourceId),
          now(),
          owner,
        ],
      ),

    /**
     * The outcome has been sent to the agent; of one that has been taken up again since it is not the outcome any more.
     * Should a power cut take this away, the outcome is sent once more: nothing happens twice.
     */
    markSent: async ({ service, key, state, attempts }: StoredAction) =>
      one(
        await database.querySoon(
          `UPDATE actions SET delivered_at = $5 WHERE service = $1 AND key = $2 AND state = $3 AND attempts = $4
             AND state IN ('succeeded', 'rejected') RETURNING *`,
          [service, key, state, attempts, now()],
        ),
      ),

    /** `sent` cannot have been read, as it turns out: unless it was sent again since, or another one has its subject meanwhile. */
    markUnread: ({ service, key, tool, subject_hash, delivered_at }: StoredAction) =>
      database.querySoon(
        `UPDATE actions SET delivered_at = NULL
         WHERE service = $1 AND key = $2 AND delivered_at = $5 AND state = 'succeeded' AND heard_at IS NULL
           AND NOT EXISTS (SELECT 1 FROM actions AS twin WHERE twin.service = $1 AND twin.tool = $3
             AND twin.subject_hash = $4 AND twin.delivered_at IS NULL)`,
        [service, key, tool, subject_hash, delivered_at],
      ),

    /** The agent has named these keys or ids: it has heard of what was sent to it under them. */
    async markHeard(service: string, names: readonly string[]): Promise<void> {
      for (let from = 0; from < names.length; from += MAX_NAMED) {
        const some = names.slice(from, from + MAX_NAMED).map(keptId);
        // Looked for first: an update that finds nothing would still wait for other processes' writes.
        for (const row of await database.query(unheardSql(some.length), [service, ...some])) {
          const { key } = Stored.pick({ key: true }).parse(row);
          const values = [service, key, now()];
          await database.querySoon("UPDATE actions SET heard_at = $3 WHERE service = $1 AND key = $2", values);
        }
      }
    },

    /** Everything this process is working on stays its own for another lease. */
    heartbeat: () =>
      database.query("UPDATE actions SET lease_until = $2 WHERE owner = $1 AND state = 'open'", [
        owner,
        now() + leaseMs,
      ]),

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
      const sql = `SELECT * FROM actions WHERE state IN (${asked}) ${mine}
         ORDER BY updated_at DESC, created_at DESC LIMIT $1`;
      const values = [limit, ...(service === undefined ? [] : [service])];
      return (await database.query(sql, values)).map((row) => Stored.parse(row));
    },

    /** Forgets what was settled and has not changed since; what is unknown stays. */
    prune: (before: number) =>
      database.query("DELETE FROM actions WHERE state IN ('succeeded', 'rejected') AND updated_at < $1", [before]),

    owner,
    close: () => database.close(),
  };
}
