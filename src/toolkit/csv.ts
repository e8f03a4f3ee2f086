// This module defines the rows that save_table saves, and formats them as CSV (RFC 4180).

import type { Text } from "../core/text.ts";
import type { Rows } from "./files.ts";
import type { ToolResult } from "./results.ts";

// Spreadsheets interpret a cell that starts with such a character as a formula.
const FORMULA = /^[=+\-@\t\r]/;

/** Puts an apostrophe before text that a spreadsheet would evaluate. */
function csvCell(cell: string | number): string {
  const text = typeof cell === "string" && FORMULA.test(cell) ? `'${cell}` : String(cell);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** Formats rows as RFC 4180: a header line, and CRLF after every line. In UTF-8 a lone surrogate becomes U+FFFD. */
export const toCsv = ({ columns, rows }: Rows): Buffer =>
  Buffer.from([columns, ...rows].map((cells) => `${cells.map(csvCell).join(",")}\r\n`).join(""));

/** All rows that a call lists, and the other parts of its result. */
export interface Table extends Rows, Pick<ToolResult, "drift"> {
  readonly summary: Text;
  readonly fields: object;
  readonly lines: ToolResult["lines"];
  /** The arguments of the call that lists the rest, if not all rows could be read. */
  readonly rest?: Readonly<Record<string, unknown>> | undefined;
}
