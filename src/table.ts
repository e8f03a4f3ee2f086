// Rows of a text as an agent reads them: tab-separated under a header line, so that each column is named once.
import { escaped } from "./outside.ts";

/** No cell holds a tab or a line's end. */
export const table = (columns: readonly string[], rows: readonly (readonly (string | number)[])[]): string =>
  [columns, ...rows].map((cells) => cells.map((cell) => escaped(String(cell))).join("\t")).join("\n");

/** Columns are those that any row has; a row without one leaves its cell empty. */
export function tableOf(rows: readonly Readonly<Record<string, unknown>>[]): string {
  const named = new Set<string>();
  for (const row of rows) for (const name in row) named.add(name);
  const columns = [...named];
  return table(
    columns,
    rows.map((row) => columns.map((column) => String(row[column] ?? ""))),
  );
}
