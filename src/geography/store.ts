// Stores entries by name, and leases, in a database that processes share: SQLite on one machine, PostgreSQL across machines.
// While the database is unavailable, each process works without it, and no answer fails for that reason.
import { randomUUID } from "node:crypto";
import * as z from "zod/v4";
import type { Database } from "../store/database.ts";

/** The shared database, and the API that its entries come from. */
export interface SharedStoreOptions {
  /** Rejects if the database cannot be used. */
  readonly open: () => Promise<Database>;
  /** Base URL of the API. Throws Failure if none is configured. */
  readonly baseUrl: () => Promise<string>;
  /** Identifies the address that requests are sent from (default: all processes that share the database use the same address). */
  readonly budget?: string;
}

/** Entries and leases of one API. No method rejects. */
export type GeographyStore = ReturnType<typeof createGeographyStore>;

/** Columns of each table. Instants are in milliseconds since 1970. */
export const GEOGRAPHY_TABLES = {
  geography_entries:
    "service TEXT NOT NULL, name TEXT NOT NULL, kept_at BIGINT NOT NULL, text TEXT NOT NULL, PRIMARY KEY (service, name)",
  geography_leases:
    "service TEXT NOT NULL, name TEXT NOT NULL, owner TEXT NOT NULL, until_at BIGINT NOT NULL, PRIMARY KEY (service, name)",
};

/** A dead process blocks the others for this long. A list whose request takes longer may be read twice. */
export const LEASE_MS = 5_000;
/** Maximum age of an entry; longer than any list is fresh (cache.ts). */
const ENTRY_MAX_AGE_MS = 24 * 3_600_000;
/** After an error, the database is not used for this long. */
const DATABASE_RETRY_MS = 30_000;
/** Maximum length of an entry's text, in characters; 256 districts with long names need less. */
const MAX_TEXT_LENGTH = 1024 * 1024;

const Row = z.object({ name: z.string(), text: z.string() });

function parseEntry<T>(text: string, schema: z.ZodType<T>): T | undefined {
  try {
    return schema.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}

/** Creates the tables only if one is missing, so that the right to create tables is needed only once. */
async function createTables({ query, withExclusiveTransaction }: Database): Promise<void> {
  const tables = Object.entries(GEOGRAPHY_TABLES);
  const probes = await Promise.allSettled(tables.map(([name]) => query(`SELECT 1 FROM ${name} WHERE 1 = 0`)));
  if (probes.every(({ status }) => status === "fulfilled")) return;
  await withExclusiveTransaction(async (exclusiveQuery) => {
    for (const [name, columns] of tables) await exclusiveQuery(`CREATE TABLE IF NOT EXISTS ${name} (${columns})`);
  });
}

interface Session {
  readonly query: Database["query"];
  /** SQL for the current instant; its parameter $1 is the time of this process's clock. */
  readonly instant: string;
  readonly service: string;
}

/** Creates the store. Without `shared`, it contains no entries and grants every lease. */
export function createGeographyStore(shared: SharedStoreOptions | undefined, now: () => number) {
  const owner = randomUUID();
  const pending = new Set<Promise<unknown>>();
  let opened: Promise<Database> | undefined;
  let retryDatabaseAt = Number.NEGATIVE_INFINITY;

  const instantSql = ({ clock }: Database): string =>
    clock === undefined ? "CAST($1 AS BIGINT)" : `COALESCE(${clock}, CAST($1 AS BIGINT))`;

  async function openDatabase(address: SharedStoreOptions): Promise<Database> {
    const database = await address.open();
    try {
      await createTables(database);
      await database.query(
        `DELETE FROM geography_entries WHERE kept_at <= ${instantSql(database)} - ${ENTRY_MAX_AGE_MS}`,
        [now()],
      );
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

  /** Runs `work`, or resolves with `fallback` if the database is unavailable. */
  async function withDatabase<T>(fallback: T, work: (session: Session) => Promise<T>): Promise<T> {
    if (shared === undefined || now() < retryDatabaseAt) return fallback;
    const running = (async () => {
      const service = await shared.baseUrl().catch(() => undefined);
      if (service === undefined) return fallback;
      opened ??= openDatabase(shared);
      const database = await opened;
      return await work({ query: database.query, instant: instantSql(database), service });
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

  return {
    /** Identifies the address that requests are sent from. */
    budget: shared?.budget ?? "",
    /** Returns the entries that exist and match the schema, by name. */
    read: <T>(names: readonly string[], schema: z.ZodType<T>) =>
      withDatabase(new Map<string, T>(), async ({ query, service }) => {
        if (names.length === 0) return new Map();
        const placeholders = names.map((_name, index) => `$${index + 2}`).join(", ");
        const rows = await query(
          `SELECT name, text FROM geography_entries
           WHERE service = $1 AND name IN (${placeholders}) AND length(text) <= ${MAX_TEXT_LENGTH}`,
          [service, ...names],
        );
        const entries = rows.flatMap((row): [string, T][] => {
          const { name, text } = Row.parse(row);
          const value = parseEntry(text, schema);
          return value === undefined ? [] : [[name, value]];
        });
        return new Map(entries);
      }),
    write: (name: string, value: object) =>
      withDatabase(undefined, async ({ query, instant, service }) => {
        await query(
          `INSERT INTO geography_entries (service, name, kept_at, text) VALUES ($2, $3, ${instant}, $4)
           ON CONFLICT (service, name) DO UPDATE SET kept_at = excluded.kept_at, text = excluded.text`,
          [now(), service, name, JSON.stringify(value)],
        );
      }),
    /** Acquires or renews a lease for LEASE_MS. Resolves with false while another process holds it. */
    acquire: (lease: string) =>
      withDatabase(true, async ({ query, instant, service }) => {
        // A lease that ends later than a new one was acquired with a wrong clock.
        const rows = await query(
          `INSERT INTO geography_leases (service, name, owner, until_at) VALUES ($2, $3, $4, ${instant} + ${LEASE_MS})
           ON CONFLICT (service, name) DO UPDATE SET owner = excluded.owner, until_at = excluded.until_at
           WHERE geography_leases.owner = excluded.owner
             OR geography_leases.until_at NOT BETWEEN ${instant} + 1 AND ${instant} + ${LEASE_MS}
           RETURNING name`,
          [now(), service, lease, owner],
        );
        return rows.length > 0;
      }),
    release: (lease: string) =>
      withDatabase(undefined, async ({ query, service }) => {
        const values = [service, lease, owner];
        await query("DELETE FROM geography_leases WHERE service = $1 AND name = $2 AND owner = $3", values);
      }),
    /** Waits for pending writes, then releases all leases of this process. */
    async close() {
      retryDatabaseAt = Number.POSITIVE_INFINITY;
      await Promise.allSettled(pending);
      const database = await opened?.catch(() => undefined);
      await database?.query("DELETE FROM geography_leases WHERE owner = $1", [owner]).catch(() => undefined);
      await closeDatabase();
    },
  };
}
