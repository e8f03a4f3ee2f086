// The journal: every action, durable before its first byte is sent. Claims are atomic, so any number of processes share it.
import * as z from "zod/v4";
import type { Database, Value } from "./database.ts";
import { migrate } from "./migrations.ts";

export const ActionState = z.enum(["open", "succeeded", "rejected", "unknown"]);
export type ActionState = z.infer<typeof ActionState>;

/** A resource's id as a database can keep it. The contract lets ids hold what no database takes: NUL, lone surrogates. */
export const keptId = (id: string): string => (/^"|[\0\p{Surrogate}]/u.test(id) ? JSON.stringify(id) : id);

function readId(kept: string): string {
  if (!kept.startsWith('"')) return kept;
  try {
    return String(JSON.parse(kept));
  } catch {
    // Of before ids were kept so.
    return kept;
  }
}

const Stored = z.object({
  service: z.string(),
  key: z.string(),
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
  resource_id: z.string().transform(readId).nullable(),
  created_at: z.int(),
  first_sent_at: z.int(),
  updated_at: z.int(),
  delivered_at: z.int().nullable(),
});

/** One action as it stands in the journal. Times are milliseconds since 1970. */
export type StoredAction = z.infer<typeof Stored>;

export interface NewAction {
  readonly service: string;
  readonly key: string;
  readonly tool: string;
  readonly arguments: string;
  readonly argumentsHash: string;
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

const one = (rows: readonly unknown[]): StoredAction | undefined => rows.slice(0, 1).map((row) => Stored.parse(row))[0];

export type Journal = Awaited<ReturnType<typeof openJournal>>;

/** `owner`: this process. Throws what the driver throws, or NewerJournal. */
export async function openJournal(database: Database, owner: string, now: () => number, leaseMs: number) {
  await migrate(database);
  const write = async (sql: string, values: readonly Value[]) => one(await database.query(sql, values));

  return {
    /** Writes a new action, claimed by this process. Undefined when its key, or an untold twin of it, is there already. */
    insert: (action: NewAction) =>
      write(
        `INSERT INTO actions (service, key, tool, arguments, arguments_hash, explicit, path, if_match, body, body_hash,
           state, in_doubt, attempts, owner, lease_until, outcome, repeatable, resource_id, created_at, updated_at,
           first_sent_at, delivered_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, 'open', 0, 0, $11, $12, NULL, 0, NULL, $13, $13, $13, NULL)
         ON CONFLICT DO NOTHING RETURNING *`,
        [
          action.service,
          action.key,
          action.tool,
          action.arguments,
          action.argumentsHash,
          action.explicit ? 1 : 0,
          action.path,
          action.ifMatch,
          action.body,
          action.bodyHash,
          owner,
          now() + leaseMs,
          now(),
        ],
      ),

    find: (service: string, key: string) =>
      write("SELECT * FROM actions WHERE service = $1 AND key = $2", [service, key]),

    /** The latest action with these arguments whose outcome nobody was told. */
    findUntold: (service: string, tool: string, argumentsHash: string) =>
      write(
        `SELECT * FROM actions WHERE service = $1 AND tool = $2 AND arguments_hash = $3 AND delivered_at IS NULL
         ORDER BY created_at DESC LIMIT 1`,
        [service, tool, argumentsHash],
      ),

    /**
     * Takes an action over that nobody works on: unknown, repeatable, or open with `deadOwner` or a lease that has run out.
     * It is untold from now on: if an earlier outcome was told, an agent that repeats it asks for this very one.
     */
    claim: ({ service, key }: StoredAction, deadOwner: string) =>
      write(
        `UPDATE actions SET state = 'open', owner = $3, lease_until = $4, updated_at = $5,
           -- Whoever left it open has sent it at least once, for all anybody knows.
           attempts = attempts + CASE WHEN state = 'open' THEN 1 ELSE 0 END,
           in_doubt = CASE WHEN state = 'rejected' THEN 0 ELSE 1 END,
           first_sent_at = CASE WHEN state = 'rejected' THEN $5 ELSE first_sent_at END,
           -- Told once, it may have a younger twin, which goes on having the arguments for itself.
           explicit = CASE WHEN delivered_at IS NULL THEN explicit ELSE 1 END, delivered_at = NULL
         WHERE service = $1 AND key = $2
           AND (state = 'unknown' OR (state = 'rejected' AND repeatable = 1)
             OR (state = 'open' AND (lease_until < $5 OR owner = $6)))
         RETURNING *`,
        [service, key, owner, now() + leaseMs, now(), deadOwner],
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
     * The agent has been told that it ended like this; one that has been taken up again since stays untold. Should a power
     * cut take this away, the outcome is told once more: nothing happens twice.
     */
    markDelivered: async ({ service, key, state, attempts }: StoredAction) =>
      one(
        await database.querySoon(
          `UPDATE actions SET delivered_at = $5 WHERE service = $1 AND key = $2 AND state = $3 AND attempts = $4
             AND state IN ('succeeded', 'rejected') AND delivered_at IS NULL RETURNING *`,
          [service, key, state, attempts, now()],
        ),
      ),

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
      const mine = service === undefined ? "" : "AND service = $2";
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
