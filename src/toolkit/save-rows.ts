// Rows saved as CSV (RFC 4180): in the download folder with a download's care, a new file, whole or not there at all; for a caller
// elsewhere under a link.
import { createHash } from "node:crypto";
import { assertNameFree, createFile, diskFailure, prepareFolder } from "../api-client/new-file.ts";
import { Failure } from "../core/failure.ts";
import { formatToken } from "../core/untrusted-text.ts";
import { pluralize } from "../geography/format.ts";
import type { Link, LinkedFile, LinkedFiles } from "./linked-files.ts";
import type { FolderFiles } from "./tool-call.ts";

/** What an answer contains about them: a file in the folder, or (elsewhere) a link. `rows`: without the header. */
export type SavedRows =
  | { readonly path: string; readonly rows: number; readonly sha256: string }
  | (Link & Pick<LinkedFile, "fileName" | "bytes" | "sha256"> & { readonly rows: number });

type Cell = string | number;

// A spreadsheet takes a cell that begins so for a formula, whoever wrote it.
const FORMULA = /^[=+\-@\t\r]/;

/** Text that a spreadsheet would run gets an apostrophe before it. */
function csvCell(cell: Cell): string {
  const text = typeof cell === "string" && FORMULA.test(cell) ? `'${cell}` : String(cell);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** RFC 4180, in UTF-8: a header line, CRLF behind every line. A lone surrogate has no UTF-8 and becomes U+FFFD. */
export const toCsv = (columns: readonly string[], rows: readonly (readonly Cell[])[]): string =>
  [columns, ...rows].map((cells) => `${cells.map(csvCell).join(",")}\r\n`).join("");

export function savedText(saved: SavedRows): string {
  const rows = pluralize(saved.rows, "row");
  if ("path" in saved) return `Saved ${rows} to ${formatToken(saved.path)}, sha256 ${saved.sha256}.`;
  const { url, expiresAt, fileName, bytes, sha256 } = saved;
  return sha256 === undefined
    ? `${rows} as ${formatToken(fileName)}: the link makes them anew whenever it is opened, until ${expiresAt}.\n${url}`
    : `${rows} as ${formatToken(fileName)}: ${bytes} bytes in this answer, sha256 ${sha256}.`;
}

/** A tool that saves rows does not download. */
interface SaveRowsPorts {
  readonly files: Pick<FolderFiles, "kind" | "folder"> | Pick<LinkedFiles, "kind" | "rows">;
}

/** Before anything is read for it. Throws Failure where the name is taken. */
export async function checkSaveAs({ files }: SaveRowsPorts, fileName: string): Promise<void> {
  if (files.kind === "folder") await assertNameFree(files.folder, fileName, "saveAs");
}

interface Table {
  readonly columns: readonly string[];
  readonly rows: readonly (readonly Cell[])[];
}

/** `madeBy`: the call that made the rows; the same call, `saveAs` included, makes them again. Throws Failure; nothing partial stays. */
export async function saveRows(
  { files }: SaveRowsPorts,
  fileName: string,
  { columns, rows }: Table,
  sourceCall: { readonly tool: string; readonly arguments: Readonly<Record<string, unknown>> },
): Promise<{ readonly saved: SavedRows; readonly file: LinkedFile | undefined }> {
  const csv = Buffer.from(toCsv(columns, rows));
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
  await assertNameFree(folder, name, "saveAs");
  try {
    const { path } = await createFile({ folder, name, argument: "saveAs" }, (file) => file.writeFile(bytes));
    return path;
  } catch (error) {
    throw error instanceof Failure ? error : diskFailure(folder, error);
  }
}
