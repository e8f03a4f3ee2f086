// What a journal file still knows that is no longer in its place, written into the one that took it.
import type { Database, DatabaseRow, Value } from "./database.ts";
import { migrate } from "./migrations.ts";

/** Rows at a time: nobody else's call waits long in between. */
const BATCH = 100;

const isValue = (value: unknown): value is Value =>
  value === null || typeof value === "string" || typeof value === "number";

async function add(row: DatabaseRow, query: Database["query"]): Promise<void> {
  const columns = Object.entries(row).filter(([name]) => name !== "place");
  const names = columns.map(([name]) => name).join(", ");
  const values = columns.map((_, index) => `$${index + 1}`).join(", ");
  await query(
    `INSERT INTO actions (${names}) VALUES (${values}) ON CONFLICT DO NOTHING`,
    columns.map(([, value]) => (isValue(value) ? value : null)),
  );
}

/** What `to` knows of an action already stays as it is. */
export async function carryOver(from: Database, to: Database): Promise<void> {
  await migrate(to);
  const tables = await from.query("SELECT name FROM sqlite_master WHERE name = 'actions'");
  if (tables.length === 0) return;
  for (let place = 0; ; ) {
    const rows = await from.query("SELECT rowid AS place, * FROM actions WHERE rowid > $1 ORDER BY rowid LIMIT $2", [
      place,
      BATCH,
    ]);
    if (rows.length === 0) return;
    await to.exclusively(async (query) => {
      for (const row of rows) await add(row, query);
    });
    place = Number(rows.at(-1)?.["place"]);
  }
}
