// Opens the database in which servers behind one address share geography: an SQLite file next to the journal, or the journal's PostgreSQL.
import { rm, stat } from "node:fs/promises";
import { join } from "node:path";
import type { Config } from "../core/config.ts";
import { errorMessage } from "../core/failure.ts";
import type { SharedStoreOptions } from "../geography/geography.ts";
import type { Database } from "../store/database.ts";

/** A separate file from the journal's, so that an action never waits for a districts list. */
const FILE_NAME = "geography.sqlite";
const SUFFIXES = ["", "-wal", "-shm"];

async function openChecked(folder: string): Promise<Database> {
  const file = await (await import("../store/sqlite.ts")).openSqlite(folder, undefined, FILE_NAME);
  try {
    // No call waits for the disk; lists that a power failure deletes can be read again.
    await file.query("PRAGMA synchronous = NORMAL");
    const [check] = await file.query("PRAGMA quick_check(1)");
    if (check?.["quick_check"] !== "ok") throw new Error("database disk image is malformed");
    return file;
  } catch (error) {
    await file.close();
    throw error;
  }
}

/** Replaces a damaged file, because its content can be read again. An emptied file is replaced too: SQLite reports it as locked. */
async function openFile(folder: string): Promise<Database> {
  const path = join(folder, FILE_NAME);
  try {
    return await openChecked(folder);
  } catch (error) {
    const isEmpty = await stat(path).then(
      ({ size }) => size === 0,
      () => false,
    );
    if (!isEmpty && !/not a database|malformed/.test(errorMessage(error))) throw error;
    for (const suffix of SUFFIXES) await rm(path + suffix, { force: true });
    return await openChecked(folder);
  }
}

/** Shares geography among the servers of one user: those with the same state folder, or the same journal in PostgreSQL. */
export const createUserSharedGeography = (
  { journalUrl, stateDir }: Pick<Config, "journalUrl" | "stateDir">,
  baseUrl: SharedStoreOptions["baseUrl"],
): SharedStoreOptions => ({
  async open() {
    if (journalUrl === undefined) return await openFile(stateDir);
    return await (await import("../store/postgres.ts")).openPostgres(journalUrl);
  },
  baseUrl,
});
