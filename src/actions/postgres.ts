// The journal of many machines: a PostgreSQL database.
import pg from "pg";
import type { Database } from "./database.ts";

const BIGINT = 20;
const CONNECT_MS = 5_000;
const STATEMENT_MS = 10_000;
/** Any number that no other program locks on: "mic-mcp" in ASCII, cut to 32 bits. */
const LOCK = 0x6d69632d;

/**
 * Whatever the role or the database says: a commit is on disk when it returns. Not as options of the connection's start,
 * which poolers such as pgbouncer refuse.
 */
const SETTINGS = `SET synchronous_commit = on; SET statement_timeout = ${STATEMENT_MS}`;

// Times in milliseconds fit a number; pg would give every BIGINT as a string.
const types = {
  getTypeParser: (oid: number, format?: "text" | "binary") =>
    oid === BIGINT ? Number : pg.types.getTypeParser(oid, format),
};

export async function openPostgres(url: string): Promise<Database> {
  const pool = new pg.Pool({
    connectionString: url,
    max: 4,
    types,
    connectionTimeoutMillis: CONNECT_MS,
    query_timeout: STATEMENT_MS,
    allowExitOnIdle: true,
    application_name: "mic-mcp",
    async onConnect(client) {
      await client.query(SETTINGS);
    },
  });
  // A connection that breaks while idle is replaced by the next query.
  pool.on("error", () => undefined);

  // A connection on which a query fails may be stuck; the pool closes it.
  const query: Database["query"] = async (sql, values = []) => (await pool.query(sql, [...values])).rows;
  return {
    query,
    // The other side of a network: what its disk does is hidden in the way there and back.
    querySoon: query,
    async exclusively(work) {
      const client = await pool.connect();
      // What breaks a connection fails the query that is under way on it, too.
      const ignore = () => undefined;
      client.on("error", ignore);
      try {
        await client.query("BEGIN");
        await client.query("SELECT pg_advisory_xact_lock($1)", [LOCK]);
        await work(async (sql, values = []) => (await client.query(sql, [...values])).rows);
        await client.query("COMMIT");
        client.off("error", ignore);
        client.release();
      } catch (error) {
        // Closed, not handed back: it may be stuck, and what it had begun ends with it.
        client.release(true);
        throw error;
      }
    },
    close: () => pool.end(),
  };
}
