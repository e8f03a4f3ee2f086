// Stores one row for each API in a database that processes share: SQLite on one machine, PostgreSQL across
// machines. A row contains a text (catalog.ts) and a lease. While the database is unavailable, each process works without it, and no
// answer fails for that reason.
import { randomUUID } from "node:crypto";
import * as z from "zod/v4";
import type { Database } from "../store/database.ts";

export interface SharedStoreOptions {
  /** Rejects if the database cannot be used. */
  readonly open: () => Promise<Database>;
  /** Base URL of the API. Throws Failure if none is configured. */
  readonly baseUrl: () => Promise<string>;
}

const TABLE = "geography_lists";
/** Columns of the table. Instants are in milliseconds since 1970. Each write sets a new `revision`; it is empty before the first. */
export const GEOGRAPHY_TABLES = {
  [TABLE]:
    "service TEXT PRIMARY KEY, kept_at BIGINT NOT NULL, revision TEXT NOT NULL, text TEXT NOT NULL, " +
    "owner TEXT NOT NULL, until_at BIGINT NOT NULL",
};

/** A dead process blocks the others for this long. */
export const LEASE_MS = 5_000;
/** Maximum age of a row; longer than any list is fresh (catalog.ts). */
const ROW_MAX_AGE_MS = 24 * 3_600_000;
/** After an error, the database is not used for this long. */
const DATABASE_RETRY_MS = 30_000;
/** A failure that takes longer than this is not repeated with a new connection: a call waits for it. */
const QUICK_FAILURE_MS = 1_000;
/** Maximum length of a text, in characters. India's lists need about 70,000. */
const MAX_TEXT_LENGTH = 4 * 1024 * 1024;

const Row = z.object({ revision: z.string(), text: z.string().nullable() });

/** Creates the table only if it is missing, so that the right to create tables is needed only once. */
async function createTable({ query, withExclusiveTransaction }: Database): Promise<void> {
  try {
    await query(`SELECT 1 FROM ${TABLE} WHERE 1 = 0`);
  } catch {
    await withExclusiveTransaction(async (exclusiveQuery) => {
      await exclusiveQuery(`CREATE TABLE IF NOT EXISTS ${TABLE} (${GEOGRAPHY_TABLES[TABLE]})`);
    });
  }
}

interface Session {
  readonly query: Database["query"];
  /** SQL for the current instant; its parameter $1 is the time of this process's clock. */
  readonly instant: string;
  readonly service: string;
}

/** Creates the store. Without `shared`, it contains no rows and grants every lease. No method rejects. */
export function createGeographyStore(shared: SharedStoreOptions | undefined, now: () => number) {
  const owner = randomUUID();
  const pending = new Set<Promise<unknown>>();
  /** The revision that this process has read or written last. */
  let latestRevision = "";
  let opened: Promise<Database> | undefined;
  let retryDatabaseAt = Number.NEGATIVE_INFINITY;

  const instantSql = ({ clock }: Database): string =>
    clock === undefined ? "CAST($1 AS BIGINT)" : `COALESCE(${clock}, CAST($1 AS BIGINT))`;

  async function openDatabase(address: SharedStoreOptions): Promise<Database> {
    const database = await address.open();
    try {
      await createTable(database);
      const isOld = `kept_at <= ${instantSql(database)} - ${ROW_MAX_AGE_MS}`;
      await database.query(`DELETE FROM ${TABLE} WHERE ${isOld}`, [now()]);
      return database;
    } catch (error) {
      await database.close().catch(() => undefined);
      throw error;
    }
  }

  async function closeDatabase(): Promise<void> {
    const previous = opened;
    opened = undefined;
    await previous?.then((database) => database.close()).catch(() => undefined);
  }

  /** Opens the database again if it was usable and fails at once, for example because another process has replaced the file. */
  async function run<T>(address: SharedStoreOptions, service: string, work: (session: Session) => Promise<T>) {
    const attempt = async (): Promise<T> => {
      opened ??= openDatabase(address);
      const database = await opened;
      return await work({ query: database.query, instant: instantSql(database), service });
    };
    const used = opened;
    const startedAt = now();
    try {
      return await attempt();
    } catch (error) {
      if (used === undefined || now() - startedAt >= QUICK_FAILURE_MS) throw error;
      if (opened === used) await closeDatabase();
      return await attempt();
    }
  }

  /** Runs `work`, or resolves with `fallback` if the database is unavailable. */
  async function withDatabase<T>(fallback: T, work: (session: Session) => Promise<T>): Promise<T> {
    if (shared === undefined || now() < retryDatabaseAt) return fallback;
    const running = (async () => {
      const service = await shared.baseUrl().catch(() => undefined);
      return service === undefined ? fallback : await run(shared, service, work);
    })();
    pending.add(running);
    try {
      return await running;
    } catch {
      retryDatabaseAt = Math.max(retryDatabaseAt, now() + DATABASE_RETRY_MS);
      await closeDatabase();
      return fallback;
    } finally {
      pending.delete(running);
    }
  }

  async function release(): Promise<void> {
    if (opened === undefined) return;
    await withDatabase(undefined, async ({ query }) => {
      await query(`UPDATE ${TABLE} SET until_at = 0 WHERE owner = $1`, [owner]);
    });
  }

  return {
    /**
     * Calls `onText` if another process has written a text since this process last read or wrote one. From that moment on, this process may
     * overwrite that text.
     */
    read: (onText: (text: string) => void) =>
      withDatabase(undefined, async ({ query, service }) => {
        const [found] = await query(
          `SELECT revision, CASE WHEN length(text) <= ${MAX_TEXT_LENGTH} THEN text END AS text FROM ${TABLE}
           WHERE service = $1 AND revision NOT IN ('', $2)`,
          [service, latestRevision],
        );
        if (!found) return;
        const { revision, text } = Row.parse(found);
        if (text !== null) onText(text);
        latestRevision = revision;
      }),
    /** Resolves with false, and changes nothing, if another process has written a text that this one has not read. */
    write: (createText: () => string) =>
      withDatabase(true, async ({ query, instant, service }) => {
        const revision = randomUUID();
        const text = createText();
        if (text.length > MAX_TEXT_LENGTH) return true;
        const rows = await query(
          `INSERT INTO ${TABLE} (service, kept_at, revision, text, owner, until_at)
           VALUES ($2, ${instant}, $3, $4, '', 0)
           ON CONFLICT (service) DO UPDATE
           SET kept_at = excluded.kept_at, revision = excluded.revision, text = excluded.text
           WHERE ${TABLE}.revision IN ($5, '')
           RETURNING revision`,
          [now(), service, revision, text, latestRevision],
        );
        if (rows.length > 0) latestRevision = revision;
        return rows.length > 0;
      }),
    /** Acquires or renews the lease for LEASE_MS. Resolves with false while another process holds it. */
    acquire: () =>
      withDatabase(true, async ({ query, instant, service }) => {
        // Another lease may have been acquired after this statement's instant, while the statement waited for a lock. A lease that ends
        // much later was acquired with a wrong clock.
        const rows = await query(
          `INSERT INTO ${TABLE} (service, kept_at, revision, text, owner, until_at)
           VALUES ($2, ${instant}, '', '', $3, ${instant} + ${LEASE_MS})
           ON CONFLICT (service) DO UPDATE SET owner = excluded.owner, until_at = excluded.until_at
           WHERE ${TABLE}.owner = excluded.owner
             OR ${TABLE}.until_at NOT BETWEEN ${instant} + 1 AND ${instant} + ${2 * LEASE_MS}
           RETURNING owner`,
          [now(), service, owner],
        );
        return rows.length > 0;
      }),
    release,
    /** Waits for pending writes, then releases the lease. */
    async close() {
      await Promise.allSettled(pending);
      await release();
      retryDatabaseAt = Number.POSITIVE_INFINITY;
      await closeDatabase();
    },
  };
}
