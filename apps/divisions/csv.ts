// Formats the rows as CSV, below comment lines with the coverage, the vintage and the number of rows.
import type { Column, Divisions, Row } from "./model.ts";

/** A spreadsheet would evaluate such a text as a formula. */
const escapeFormula = (text: string): string => (/^[=+\-@\t\r]/.test(text) ? `'${text}` : text);

const toCell = (value: string | number): string => {
  const text = typeof value === "string" ? escapeFormula(value) : String(value);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
};

const toCommentLine = (text: string): string => `# ${text.replace(/[\r\n]+/g, " ")}`;

const contentOf = (row: Row, column: Column): string | number =>
  column === "name" || column === "stateName" ? row[column] : row.figures[column];

export function toCsv(divisions: Divisions, rows: readonly Row[], columns: readonly Column[]): string {
  const { coverage, isComplete, missing, sourceDays, readAt, totalRows } = divisions;
  const notes = [
    `coverage: ${coverage}, ${isComplete ? "complete" : "not complete"}`,
    ...missing.map((each) => `missing: ${each}`),
    `source updated: ${sourceDays.join(", ") || "not stated"}; read: ${readAt}`,
    `rows: ${rows.length} of ${totalRows}`,
  ];
  const table = rows.map((row) => [row.code, ...columns.map((column) => contentOf(row, column))].map(toCell).join(","));
  return [...notes.map(toCommentLine), ["code", ...columns].join(","), ...table, ""].join("\r\n");
}
