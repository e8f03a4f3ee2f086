// This module formats rows for agents as tab-separated text under a header line, so that each column is named only once.
import { escapeText, formatCell, formatTitleCell } from "./untrusted-text.ts";

/** Columns of names and titles, and a column of the server's own phrases. */
const PHRASE_COLUMNS: ReadonlySet<string> = new Set(["name", "stateName", "outcome"]);

type Rows = readonly (readonly (string | number)[])[];

const joinRows = (columns: readonly string[], rows: Rows, format: (text: string, column: string) => string): string =>
  [columns, ...rows.map((cells) => cells.map((text, at) => format(String(text), columns[at] ?? "")))]
    .map((cells) => cells.join("\t"))
    .join("\n");

/** Formats a table. No cell contains a tab or a line end. A cell that could be mistaken for the server's own text is a JSON string. */
export const formatTable = (columns: readonly string[], rows: Rows): string =>
  joinRows(columns, rows, (text, column) => (PHRASE_COLUMNS.has(column) ? formatTitleCell : formatCell)(text));

const toCellText = (value: unknown): string => (Array.isArray(value) ? value.join(", ") : String(value ?? ""));

type Records = readonly Readonly<Record<string, unknown>>[];

/** Formats records of texts that the operator has chosen, with a column for each field of the first. They are escaped, but not quoted. */
export function formatOperatorTable(rows: Records): string {
  const columns = Object.keys(rows[0] ?? {});
  return joinRows(
    columns,
    rows.map((row) => columns.map((column) => toCellText(row[column]))),
    escapeText,
  );
}

/** Formats records as a table with a column for each field that any record has. A missing field is an empty cell. */
export function formatRecordTable(rows: Records): string {
  const named = new Set<string>();
  for (const row of rows) for (const name in row) if (row[name] !== undefined) named.add(name);
  const columns = [...named];
  return formatTable(
    columns,
    rows.map((row) => columns.map((column) => toCellText(row[column]))),
  );
}
