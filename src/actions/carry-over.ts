// Copies the rows of a journal file that was moved away into the file that took its place.
import type { Database, DatabaseRow, Value } from "./database.ts";
import { prepareSchema } from "./schema.ts";

/** Rows in one transaction, so that other processes do not wait long for it. */
const BATCH = 100;

const isValue = (value: unknown): value is Value =>
  value === null || typeof value === "string" || typeof value === "number";

async function add(row: DatabaseRow, query: Database["query"]): Promise<void> {
  const columns = Object.entries(row).filter(([name]) => name !== "place");
  const names = columns.map(([name]) => name).join(", ");
  // The slot may be taken there: a row without it is found as well, and no row may be lost.
  const values = columns.map(([name], index) => (name === "slot" ? `0 * $${index + 1}` : `$${index + 1}`)).join(", ");
  await query(
    `INSERT INTO actions (${names}) VALUES (${values}) ON CONFLICT DO NOTHING`,
    columns.map(([, value]) => (isValue(value) ? value : null)),
  );
}

/** Actions that `to` has already stay as they are. */
export async function carryOver(from: Database, to: Database): Promise<void> {
  await prepareSchema(to);
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
