// Rows of a text as an agent reads them: tab-separated under a header line, so that each column is named once.
import { cell, escaped, titleCell } from "./outside.ts";

/** Columns of names and titles, and one of the server's own phrases. */
const PHRASES: ReadonlySet<string> = new Set(["name", "stateName", "outcome"]);

type Rows = readonly (readonly (string | number)[])[];

const joined = (columns: readonly string[], rows: Rows, format: (text: string, column: string) => string): string =>
  [columns, ...rows.map((cells) => cells.map((text, at) => format(String(text), columns[at] ?? "")))]
    .map((cells) => cells.join("\t"))
    .join("\n");

/** No cell contains a tab or a line end. A cell that could be mistaken for the server's own text is a JSON string. */
export const table = (columns: readonly string[], rows: Rows): string =>
  joined(columns, rows, (text, column) => (PHRASES.has(column) ? titleCell : cell)(text));

/** Rows of texts that the operator has chosen: escaped, not quoted. */
export const operatorTable = (columns: readonly string[], rows: Rows): string => joined(columns, rows, escaped);

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
