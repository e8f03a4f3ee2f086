// The journal of many machines: a PostgreSQL database.
import pg from "pg";
import type { Database } from "./database.ts";

const BIGINT = 20;
const CONNECT_MS = 5_000;
const STATEMENT_MS = 10_000;
/** Any number that no other program locks on: "mic-mcp" in ASCII, cut to 32 bits. */
const LOCK = 0x6d69632d;

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
    statement_timeout: STATEMENT_MS,
    query_timeout: STATEMENT_MS,
    allowExitOnIdle: true,
    application_name: "mic-mcp",
  });
  // A connection that breaks while idle is replaced by the next query.
  pool.on("error", () => undefined);
  const query: Database["query"] = async (sql, values = []) => (await pool.query(sql, [...values])).rows;
  return {
    query,
    // The other side of a network: what its disk does is hidden in the way there and back.
    querySoon: query,
    async exclusively(work) {
      const client = await pool.connect();
      try {
        await client.query("BEGIN");
        await client.query("SELECT pg_advisory_xact_lock($1)", [LOCK]);
        await work(async (sql, values = []) => (await client.query(sql, [...values])).rows);
        await client.query("COMMIT");
      } catch (error) {
        await client.query("ROLLBACK").catch(() => undefined);
        throw error;
      } finally {
        client.release();
      }
    },
    close: () => pool.end(),
  };
}
