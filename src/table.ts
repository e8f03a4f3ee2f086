// Rows of a text as an agent reads them: tab-separated under a header line, so that each column is named once.
import { escaped } from "./outside.ts";

/** No cell holds a tab or a line's end. */
export const table = (columns: readonly string[], rows: readonly (readonly (string | number)[])[]): string =>
  [columns, ...rows].map((cells) => cells.map((cell) => escaped(String(cell))).join("\t")).join("\n");

/** Columns are those that any row has; a row without one leaves its cell empty. */
export function tableOf(rows: readonly object[]): string {
  const named = rows.map((row) => new Map(Object.entries(row).map(([name, value]) => [name, String(value ?? "")])));
  const columns = [...new Set(named.flatMap((row) => [...row.keys()]))];
  return table(
    columns,
    named.map((row) => columns.map((column) => row.get(column) ?? "")),
  );
}
