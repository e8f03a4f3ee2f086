// The journal of many machines: a PostgreSQL database, on one server or on whichever of several is the primary.
import { createHash } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { reasonOf } from "../failure.ts";
import { AnswerLost, type Database, type Value } from "./database.ts";
import { isBroken, isFull, isOutdatedPlan, isRefused, NoPrimary } from "./postgres-errors.ts";
import { createPrimary, FIND_MS, type Primary } from "./primary.ts";
import { createSlots } from "./slots.ts";

const BIGINT = 20;
const CONNECT_MS = 5_000;
const STATEMENT_MS = 10_000;
const PAUSE_MS = 100;
/** In line for a connection. */
const WAIT_MS = 5_000;
/** Any number that no other program locks on: "mic-mcp" in ASCII, cut to 32 bits. */
const LOCK = 0x6d69632d;
const CONNECTIONS = 4;

/**
 * Whatever the role or the database says: a commit is on disk when it returns, and on a replica where there are synchronous ones. Not
 * as options of the connection's start, which poolers such as pgbouncer refuse.
 */
const SETTINGS = `SET synchronous_commit = on; SET statement_timeout = ${STATEMENT_MS}`;

// Times in milliseconds fit a number; pg would give every BIGINT as a string.
const types = {
  getTypeParser: (oid: number, format?: "text" | "binary") =>
    oid === BIGINT ? Number : pg.types.getTypeParser(oid, format),
};

const isReading = (sql: string): boolean => /^\s*SELECT/i.test(sql);

export interface PostgresOptions {
  /** At most; 4 unless it is said. */
  readonly connections?: number;
  /** After a failover another server, or another one behind the same address, is the primary: it is looked for, for FIND_MS. */
  readonly failover?: boolean;
}

export interface PostgresDatabase extends Database {
  readonly clock: string;
  /** Statements that wait for a connection now. */
  waiting(): number;
}

function openPool(url: string, connections: number, primary: Primary | undefined): pg.Pool {
  return new pg.Pool({
    connectionString: url,
    max: connections,
    types,
    connectionTimeoutMillis: CONNECT_MS,
    query_timeout: STATEMENT_MS,
    allowExitOnIdle: true,
    application_name: "mic-mcp",
    async onConnect(client) {
      await client.query(SETTINGS);
      await primary?.check(client);
    },
  });
}

/** `urls`: of one database on all its servers, comma-separated. */
export async function openPostgres(urls: string, options: PostgresOptions = {}): Promise<PostgresDatabase> {
  const { connections = CONNECTIONS, failover = false } = options;
  const primary = failover ? createPrimary(urls.split(",")) : undefined;
  const waitMs = failover ? FIND_MS + WAIT_MS : WAIT_MS;
  const busy = (): Error => new Error(`all ${connections} connections have been busy for ${waitMs / 1_000} s`);
  const slots = createSlots(connections, waitMs, busy);
  let opening: Promise<pg.Pool> | undefined;
  let current: pg.Pool | undefined;
  let isClosed = false;
  /** Becomes part of the statements' names when what they were prepared for has changed. */
  let generation = 0;
  const names = new Map<string, string>();

  /** Its connections are of no use any more. With one address for all that comes the pool itself goes on. */
  function drop(pool: pg.Pool): void {
    if (!primary || current !== pool) return;
    current = undefined;
    opening = undefined;
    // A server that is stuck takes no leave.
    void pool.end().catch(() => undefined);
  }

  async function open(): Promise<pg.Pool> {
    const url = primary ? await primary.find() : urls;
    if (isClosed) throw new Error("the database has been closed");
    const pool = openPool(url, connections, primary);
    // A connection that breaks while idle is replaced by the next query.
    pool.on("error", () => drop(pool));
    current = pool;
    return pool;
  }

  async function connect(): Promise<{ readonly pool: pg.Pool; readonly client: pg.PoolClient }> {
    const endsAt = performance.now() + FIND_MS;
    for (;;) {
      opening ??= open().catch((error: unknown) => {
        opening = undefined;
        throw error;
      });
      const pool = await opening;
      try {
        return { pool, client: await pool.connect() };
      } catch (error) {
        // Or ended, by somebody who has seen it break.
        const isOver = isBroken(error) || current !== pool;
        if (!primary || !(isOver || isFull(error)) || performance.now() > endsAt) throw error;
        if (isOver) drop(pool);
        await sleep(PAUSE_MS);
      }
    }
  }

  /** Uses a connection; one on which anything fails may be stuck, and is closed. */
  async function onConnection<T>(work: (client: pg.PoolClient) => Promise<T>): Promise<T> {
    const leave = await slots.enter();
    try {
      const { pool, client } = await connect();
      // What breaks a connection fails the query that is under way on it, too.
      const ignore = (): void => undefined;
      client.on("error", ignore);
      try {
        const result = await work(client);
        client.off("error", ignore);
        client.release();
        return result;
      } catch (error) {
        client.release(true);
        if (isBroken(error)) drop(pool);
        throw error;
      }
    } finally {
      leave();
    }
  }

  function prepared(sql: string, values: readonly Value[]): pg.QueryConfig {
    if (values.length === 0) return { text: sql };
    const hash = names.get(sql) ?? createHash("sha256").update(sql).digest("hex").slice(0, 24);
    names.set(sql, hash);
    return { name: `mic-${generation}-${hash}`, text: sql, values: [...values] };
  }

  async function runOnce(sql: string, values: readonly Value[]) {
    let isSent = false;
    try {
      return await onConnection(async (client) => {
        isSent = true;
        return await client.query(prepared(sql, values));
      });
    } catch (error) {
      if (!isSent || !isBroken(error) || isReading(sql) || isRefused(error)) throw error;
      throw new AnswerLost(reasonOf(error), { cause: error });
    }
  }

  /** Nothing can have been done, and another try may do: on the primary of now, or prepared for the tables of now. */
  function isWorthRepeating(error: unknown): boolean {
    if (error instanceof AnswerLost || error instanceof NoPrimary) return false;
    if (!isOutdatedPlan(error)) return primary !== undefined && isBroken(error);
    generation += 1;
    return true;
  }

  const query: Database["query"] = async (sql, values = []) => {
    const again = (error: unknown) => (isWorthRepeating(error) ? runOnce(sql, values) : Promise.reject(error));
    return (await runOnce(sql, values).catch(again)).rows;
  };

  return {
    query,
    // The other side of a network: what its disk does is hidden in the way there and back.
    async exclusively(work, lock) {
      let hasBegun = false;
      // What fails in between ends with the connection.
      const once = () =>
        onConnection(async (client) => {
          await client.query("BEGIN");
          if (lock === undefined) await client.query("SELECT pg_advisory_xact_lock($1)", [LOCK]);
          else await client.query("SELECT pg_advisory_xact_lock($1, hashtext($2))", [LOCK, lock]);
          hasBegun = true;
          await work(async (sql, values = []) => (await client.query(sql, [...values])).rows);
          await client.query("COMMIT");
        });
      await once().catch((error: unknown) => (hasBegun || !isWorthRepeating(error) ? Promise.reject(error) : once()));
    },
    // Of one statement: a row's times are the same.
    clock: "CAST(EXTRACT(EPOCH FROM statement_timestamp()) * 1000 AS BIGINT)",
    waiting: slots.waiting,
    async close() {
      isClosed = true;
      await current?.end();
    },
  };
}
