// Creates files in the download folder: each is written under another name, then gets its name without replacing a file.
import { constants, mkdtempSync, rmSync } from "node:fs";
import { copyFile, type FileHandle, link, lstat, mkdir, open, readdir, rm, unlink } from "node:fs/promises";
import { join, parse } from "node:path";
import { parse as parseDisposition } from "content-disposition";
import * as z from "zod/v4";
import { errorCode, errorMessage, Failure, invalidArguments } from "../core/failure.ts";
import { ask, quoted, raw, say } from "../core/text.ts";

// File systems allow 255 bytes. The rest is reserved for the number that is added if a name is taken.
const MAX_NAME_BYTES = 200;

// Device names of Windows, with any extension or trailing spaces.
const RESERVED = /^(con|prn|aux|nul|conin\$|conout\$|com[0-9¹²³]|lpt[0-9¹²³]) *(\..*)?$/i;
const FORBIDDEN = /[/\\<>:"|?*\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Surrogate}]/u;

const isPlainName = (name: string): boolean =>
  name !== "" &&
  !FORBIDDEN.test(name) &&
  !RESERVED.test(name) &&
  !name.startsWith(".") &&
  !/[. ]$/.test(name) &&
  name.trim() === name &&
  Buffer.byteLength(name) <= MAX_NAME_BYTES;

/** A plain file name that is valid on every platform: not a path and not hidden. */
export const fileNameSchema = z.string().refine(isPlainName, {
  error: `must be a plain file name of at most ${MAX_NAME_BYTES} bytes: no path, no leading dot, none of / \\ < > : " | ? *`,
});

function sanitizeName(name: string): string {
  const base = name.split(/[/\\]/).at(-1) ?? "";
  let plain = base.replace(new RegExp(FORBIDDEN, "gu"), "_").replace(/^[. ]+|[. ]+$/g, "");
  while (Buffer.byteLength(plain) > MAX_NAME_BYTES) plain = [...plain].slice(1).join("");
  return plain;
}

/** Returns the sanitized name in a Content-Disposition header (RFC 6266; filename* first), else `fallback` sanitized, else "asset". */
export function nameFromHeader(disposition: string | undefined, fallback: string): string {
  const wanted = parseDisposition(disposition ?? "").parameters["filename"] ?? fallback;
  for (const candidate of [sanitizeName(wanted), sanitizeName(fallback)]) if (isPlainName(candidate)) return candidate;
  return "asset";
}

const nameTakenFailure = (name: string): Failure =>
  invalidArguments(
    say`A file named ${quoted(name)} exists already in the download folder; nothing is ever overwritten.`,
    [{ pointer: "/fileName", code: "ALREADY_EXISTS", message: "must not exist yet" }],
    say`Choose another fileName.`,
  );

export const diskFailure = (folder: string, error: unknown): Failure =>
  new Failure(
    {
      kind: "internal",
      message: say`The file could not be written to the download folder ${folder}: ${raw(errorMessage(error))}.`,
      retryable: false,
      sideEffect: "none",
      next: say`${ask("Free")} disk space there, make the folder writable, or set MIC_DOWNLOAD_DIR to another folder.`,
    },
    { cause: error },
  );

/** Creates the folder if it is missing, and removes abandoned partial files in it. Throws Failure. */
export async function prepareFolder(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true }).catch((error: unknown) => {
    throw diskFailure(folder, error);
  });
  await removeAbandonedFiles(folder);
}

/** Throws Failure if a file, folder or link with that name exists. */
export async function assertNameFree(folder: string, name: string): Promise<void> {
  const found = await lstat(join(folder, name)).catch(() => undefined);
  if (found) throw nameTakenFailure(name);
}

/** Gives `part` its final name without replacing a file. Returns false if the name is taken. */
async function claimName(part: string, path: string): Promise<boolean> {
  try {
    await link(part, path);
  } catch (error) {
    if (errorCode(error) === "EEXIST") return false;
    // On file systems without hard links (FAT), an exclusive copy is the next best option.
    try {
      await copyFile(part, path, constants.COPYFILE_EXCL);
    } catch (copyError) {
      if (errorCode(copyError) === "EEXIST") return false;
      throw copyError;
    }
  }
  await unlink(part);
  return true;
}

// Each partial file is written in a new hidden folder inside its target folder. A killed process leaves that folder behind.

const PREFIX = ".mic-mcp-part-";
const FILE = "part";
const ABANDONED_MS = 24 * 3_600_000;

/** The folders of the partial files that this process is writing. If it exits before a file is complete, its folder is removed. */
const partFolders = new Set<string>();
process.on("exit", () => {
  for (const partFolder of partFolders)
    try {
      // A write in flight may add its file while the folder is removed.
      rmSync(partFolder, { recursive: true, force: true, maxRetries: 3 });
    } catch {
      // The next download removes it when it is a day old.
    }
});

const MAX_NUMBERED = 1000;

interface NewFile {
  readonly folder: string;
  readonly name: string;
  /** True if a taken name is numbered, because the caller did not choose it. */
  readonly mayNumber?: boolean;
}

async function claimFreeName(part: string, { folder, name, mayNumber }: NewFile): Promise<string> {
  const { name: stem, ext } = parse(name);
  for (let n = 1; n <= (mayNumber ? MAX_NUMBERED : 1); n++) {
    const fileName = n === 1 ? name : `${stem} (${n})${ext}`;
    if (await claimName(part, join(folder, fileName))) return fileName;
  }
  throw nameTakenFailure(name);
}

/** Throws the error of `write` or of the file system, or Failure if the name is taken. No partial file remains then. */
export async function createFile<T>(
  newFile: NewFile,
  write: (file: FileHandle) => Promise<T>,
): Promise<{ readonly fileName: string; readonly path: string; readonly written: T }> {
  const { folder } = newFile;
  const partFolder = mkdtempSync(join(folder, PREFIX));
  partFolders.add(partFolder);
  try {
    const part = join(partFolder, FILE);
    const file = await open(part, "wx", 0o600);
    let written: T;
    try {
      written = await write(file);
      await file.sync();
    } catch (error) {
      await file.close().catch(() => undefined);
      throw error;
    }
    await file.close();
    const fileName = await claimFreeName(part, newFile);
    return { fileName, path: join(folder, fileName), written };
  } finally {
    await rm(partFolder, { recursive: true, force: true }).catch(() => undefined);
    partFolders.delete(partFolder);
  }
}

/** Removes the partial files that no process has written to for a day. Errors are ignored: the next call tries again. */
async function removeAbandonedFiles(folder: string): Promise<void> {
  for (const name of await readdir(folder).catch(() => [])) {
    if (!name.startsWith(PREFIX)) continue;
    const partFolder = join(folder, name);
    const isFolder = (await lstat(partFolder).catch(() => undefined))?.isDirectory() === true;
    const written = isFolder
      ? await lstat(join(partFolder, FILE)).catch(() => lstat(partFolder).catch(() => undefined))
      : undefined;
    if (written !== undefined && Date.now() - written.mtimeMs > ABANDONED_MS)
      await rm(partFolder, { recursive: true, force: true }).catch(() => undefined);
  }
}
