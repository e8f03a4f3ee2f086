// Lists as rows of the database that the machines behind one address share.
import * as z from "zod/v4";
import { instantOf, makeTables, type SharedDatabase } from "./neighbours.ts";
import { type ListPlace, OLD_MS } from "./store.ts";

/** Times are milliseconds since 1970. */
export const LIST_TABLES = {
  geography_lists:
    "service TEXT NOT NULL, list TEXT NOT NULL, kept_at BIGINT NOT NULL, text TEXT NOT NULL, PRIMARY KEY (service, list)",
};
/** A database that could not be used is left alone for so long. */
const APART_MS = 30_000;

const Row = z.object({ text: z.string() });

export interface ListTableOptions {
  readonly open: () => Promise<SharedDatabase>;
  readonly now: () => number;
}

export function listTable({ open, now }: ListTableOptions): ListPlace {
  let opening: Promise<SharedDatabase> | undefined;
  let apartUntilAt = Number.NEGATIVE_INFINITY;

  async function prepared(): Promise<SharedDatabase> {
    const database = await open();
    try {
      await makeTables(database, LIST_TABLES);
      const oldAt = (await instantOf(database, database.query, now)) - OLD_MS;
      await database.query("DELETE FROM geography_lists WHERE kept_at <= $1", [oldAt]);
      return database;
    } catch (error) {
      await database.close().catch(() => undefined);
      throw error;
    }
  }

  async function using<T>(work: (database: SharedDatabase) => Promise<T>): Promise<T> {
    if (now() < apartUntilAt) throw new Error("the database could not be used a moment ago");
    try {
      opening ??= prepared();
      return await work(await opening);
    } catch (error) {
      apartUntilAt = now() + APART_MS;
      const former = await opening?.catch(() => undefined);
      opening = undefined;
      await former?.close().catch(() => undefined);
      throw error;
    }
  }

  return {
    read: (service, list) =>
      using(async ({ query }) => {
        const values = [service, list];
        const [row] = await query("SELECT text FROM geography_lists WHERE service = $1 AND list = $2", values);
        return row === undefined ? undefined : JSON.parse(Row.parse(row).text);
      }),
    write: (service, list, text) =>
      using(async (database) => {
        await database.query(
          `INSERT INTO geography_lists (service, list, kept_at, text) VALUES ($1, $2, $3, $4)
           ON CONFLICT (service, list) DO UPDATE SET kept_at = excluded.kept_at, text = excluded.text`,
          [service, list, await instantOf(database, database.query, now), text],
        );
      }),
    async close() {
      const database = await opening?.catch(() => undefined);
      opening = undefined;
      await database?.close();
    },
  };
}
