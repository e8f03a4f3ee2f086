// Rows saved as a CSV file in the download folder (RFC 4180), with a download's care: a new file, whole or not there at all.
import { createHash } from "node:crypto";
import { open, unlink } from "node:fs/promises";
import { join } from "node:path";
import { Failure } from "../failure.ts";
import { plural } from "../geography/format.ts";
import { word } from "../outside.ts";
import { fileNameSchema } from "../service/file-names.ts";
import { claimName, diskFailure, nameTaken, prepareFolder, refuseTaken } from "../service/new-file.ts";
import { partialName } from "../service/partial-files.ts";
import type { Files } from "./ports.ts";

/** The argument of a tool that can save its rows instead of showing them. */
export const saveAs = fileNameSchema.describe("Saves all rows as CSV.").optional();

export interface SavedRows {
  readonly path: string;
  /** Without the header. */
  readonly rows: number;
  readonly sha256: string;
}

type Cell = string | number;

// A spreadsheet takes a cell that begins so for a formula, whoever wrote it.
const FORMULA = /^[=+\-@\t\r]/;

/** Text that a spreadsheet would run gets an apostrophe before it. */
function csvCell(cell: Cell): string {
  const text = typeof cell === "string" && FORMULA.test(cell) ? `'${cell}` : String(cell);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** RFC 4180, in UTF-8: a header line, CRLF behind every line. A lone surrogate has no UTF-8 and becomes U+FFFD. */
export const csvOf = (columns: readonly string[], rows: readonly (readonly Cell[])[]): string =>
  [columns, ...rows].map((cells) => `${cells.map(csvCell).join(",")}\r\n`).join("");

export const savedText = ({ path, rows, sha256 }: SavedRows): string =>
  `Saved ${plural(rows, "row")} to ${word(path)}, sha256 ${sha256}.`;

/** A tool that saves rows writes to the download folder and does not download. */
interface Saving {
  readonly files: Pick<Files, "folder">;
}

/** Before anything is read for it. Throws Failure where the name is taken. */
export const checkSaveAs = ({ files }: Saving, fileName: string): Promise<void> =>
  refuseTaken(files.folder, fileName, "saveAs");

interface Table {
  readonly columns: readonly string[];
  readonly rows: readonly (readonly Cell[])[];
}

/** Throws Failure: where the name is taken, or the folder cannot be written to. Nothing partial stays behind. */
export async function saveRows(
  { files: { folder } }: Saving,
  fileName: string,
  { columns, rows }: Table,
): Promise<SavedRows> {
  await prepareFolder(folder);
  await refuseTaken(folder, fileName, "saveAs");
  const bytes = Buffer.from(csvOf(columns, rows));
  const part = join(folder, partialName(fileName));
  const path = join(folder, fileName);
  try {
    const file = await open(part, "wx", 0o600);
    try {
      await file.writeFile(bytes);
      await file.sync();
    } finally {
      await file.close();
    }
    if (!(await claimName(part, path))) throw nameTaken(fileName, "saveAs");
  } catch (error) {
    await unlink(part).catch(() => undefined);
    throw error instanceof Failure ? error : diskFailure(folder, error);
  }
  return { path, rows: rows.length, sha256: createHash("sha256").update(bytes).digest("hex") };
}
