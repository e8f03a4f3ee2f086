// This module saves rows as CSV (RFC 4180): as a new file in the download folder, or behind a link for a caller on another machine.

import { createHash } from "node:crypto";
import { assertNameFree, createFile, diskFailure, prepareFolder } from "../api-client/new-file.ts";
import { countPart } from "../core/counts.ts";
import { Failure } from "../core/failure.ts";
import { say, type Text } from "../core/text.ts";
import type { Link, LinkedFile, LinkedFiles } from "./linked-files.ts";
import type { ToolResult } from "./results.ts";
import type { FolderFiles } from "./tool-context.ts";

/** The saved rows in a result: a file in the folder, or a link for a caller on another machine. `rows` does not count the header. */
export type SavedRows =
  | { readonly path: string; readonly rows: number; readonly sha256: string }
  | (Link & Pick<LinkedFile, "fileName" | "bytes" | "sha256"> & { readonly rows: number });

type Cell = string | number;

// Spreadsheets interpret a cell that starts with such a character as a formula.
const FORMULA = /^[=+\-@\t\r]/;

/** Puts an apostrophe before text that a spreadsheet would evaluate. */
function csvCell(cell: Cell): string {
  const text = typeof cell === "string" && FORMULA.test(cell) ? `'${cell}` : String(cell);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** Formats rows as RFC 4180: a header line, and CRLF after every line. In UTF-8 a lone surrogate becomes U+FFFD. */
export const toCsv = ({ columns, rows }: Pick<Table, "columns" | "rows">): Buffer =>
  Buffer.from([columns, ...rows].map((cells) => `${cells.map(csvCell).join(",")}\r\n`).join(""));

/** Returns a sentence about the saved rows, and a line with the checksum or the link. */
export function describeSaved(saved: SavedRows): readonly [summary: Text, line: Text | string] {
  const rows = countPart(saved.rows, "row");
  if ("path" in saved) return [say`Saved ${rows} to ${saved.path}.`, say`sha256 ${saved.sha256}`];
  const { url, expiresAt, fileName, bytes, sha256 } = saved;
  const what = say`${rows} as ${fileName}:`;
  return sha256 === undefined
    ? [say`${what} the link creates them again each time it is opened, until ${expiresAt}.`, url]
    : [say`${what} ${bytes} bytes in this answer.`, say`sha256 ${sha256}`];
}

/** A tool that saves rows needs no download function. */
interface SaveRowsPorts {
  readonly files: Pick<FolderFiles, "kind" | "folder"> | Pick<LinkedFiles, "kind" | "rows">;
}

/** Throws Failure if the name is taken. Tools call it before they read the rows. */
export async function assertFileNameFree({ files }: SaveRowsPorts, fileName: string): Promise<void> {
  if (files.kind === "folder") await assertNameFree(files.folder, fileName);
}

/** All rows that a call lists, and the other parts of its result. */
export interface Table extends Pick<ToolResult, "drift"> {
  readonly summary: Text;
  readonly columns: readonly string[];
  readonly rows: readonly (readonly Cell[])[];
  readonly fields: object;
  readonly lines: ToolResult["lines"];
  /** The arguments of the call that lists the rest, if not all rows could be read. */
  readonly rest?: Readonly<Record<string, unknown>> | undefined;
}

/** Saves rows as CSV. `sourceCall`: the call that lists the rows. Throws Failure; no partial file remains. */
export async function saveRows(
  { files }: SaveRowsPorts,
  fileName: string,
  { columns, rows }: Pick<Table, "columns" | "rows">,
  sourceCall: { readonly tool: string; readonly arguments: Readonly<Record<string, unknown>> },
): Promise<{ readonly saved: SavedRows; readonly file: LinkedFile | undefined }> {
  const csv = toCsv({ columns, rows });
  if (files.kind === "folder") {
    const path = await saveFile(files.folder, fileName, csv);
    const sha256 = createHash("sha256").update(csv).digest("hex");
    return { saved: { path, rows: rows.length, sha256 }, file: undefined };
  }
  const file = await files.rows({ ...sourceCall, fileName, csv });
  const { content, contentType, ...details } = file;
  return { saved: { ...details, rows: rows.length }, file };
}

async function saveFile(folder: string, name: string, bytes: Buffer): Promise<string> {
  await prepareFolder(folder);
  await assertNameFree(folder, name);
  try {
    const { path } = await createFile({ folder, name }, (file) => file.writeFile(bytes));
    return path;
  } catch (error) {
    throw error instanceof Failure ? error : diskFailure(folder, error);
  }
}
