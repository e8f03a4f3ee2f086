// Opens the store for one machine: an SQLite file that processes share. Statements that wait for others leave the event loop free.
import { existsSync, lstatSync } from "node:fs";
import { chmod, mkdir, open } from "node:fs/promises";
import { basename, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { errorMessage } from "../core/failure.ts";
import { type Database, type DatabaseRow, isSelect, type MapError, type SqlValue } from "./database.ts";

/** A statement waits this long for another process's write; each try blocks for BLOCKING_BUSY_MS, and the event loop is free between. */
const BUSY_MS = 5_000;
const BLOCKING_BUSY_MS = 50;
const BUSY_RETRY_MS = 25;

interface Statement {
  all(parameters: Record<string, SqlValue>): unknown[];
}
interface Engine {
  exec(sql: string): void;
  prepare(sql: string): Statement;
  close(): void;
}
type EngineClass = new (path: string, options: { timeout: number }) => Engine;

const isEngineModule = (module: unknown): module is { DatabaseSync: EngineClass } =>
  typeof module === "object" && module !== null && "DatabaseSync" in module;

/** Loads Node's own SQLite (22.16 and later), or else a package with the same API. */
async function loadEngine(): Promise<EngineClass> {
  const warn = process.emitWarning;
  // Node 22 warns that its SQLite is experimental; the tests run on it.
  process.emitWarning = () => undefined;
  const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
  const builtin: unknown =
    major > 22 || (major === 22 && minor >= 16) ? process.getBuiltinModule("node:sqlite") : undefined;
  process.emitWarning = warn;
  return isEngineModule(builtin) ? builtin.DatabaseSync : (await import("@photostructure/sqlite")).DatabaseSync;
}

// Compares the message, because errors of the package's statements have no code.
const isBusy = (error: unknown): boolean => /database is locked/.test(errorMessage(error));

/** `mapError` converts the error that is thrown. */
async function retryWhileLocked<T>(work: () => T, mapError: MapError = (error) => error): Promise<T> {
  let deadline: number | undefined;
  for (;;) {
    try {
      return work();
    } catch (error) {
      deadline ??= performance.now() + BUSY_MS;
      if (!isBusy(error) || performance.now() > deadline) throw mapError(error);
    }
    await sleep(BUSY_RETRY_MS);
  }
}

function toNamedParameters(values: readonly SqlValue[] = []): Record<string, SqlValue> {
  const named: Record<string, SqlValue> = {};
  for (const [index, value] of values.entries()) named[`$${index + 1}`] = value;
  return named;
}

const isRow = (value: unknown): value is DatabaseRow => typeof value === "object" && value !== null;

/** The file and its side files. */
const SUFFIXES = ["", "-wal", "-shm"];

/** Only this user can read the folder and the file. SQLite uses the same mode for its side files. */
async function prepareFile(folder: string, name: string): Promise<string> {
  if (!existsSync(folder)) await mkdir(folder, { recursive: true, mode: 0o700 });
  const path = join(folder, name);
  for (const suffix of SUFFIXES) fileIdentity(path + suffix);
  const file = await open(path, "a", 0o600);
  await file.close();
  if (process.platform !== "win32") await chmod(path, 0o600);
  return path;
}

/**
 * Returns an identifier of the file at a path; undefined if there is none. Throws for a symbolic link: SQLite writes the WAL next to the
 * file that the link leads to, so a server that opened the file before it was moved there would have another WAL.
 */
function fileIdentity(path: string): string | undefined {
  const stats = lstatSync(path, { bigint: true, throwIfNoEntry: false });
  if (stats?.isSymbolicLink()) throw new Error(`${basename(path)} is a symbolic link`);
  return stats && `${stats.dev}:${stats.ino}`;
}

async function openEngine(path: string): Promise<Engine> {
  const engine = new (await loadEngine())(path, { timeout: BLOCKING_BUSY_MS });
  try {
    // On macOS, a sync without fullfsync does not reach the disk. Other systems ignore it. The first read opens the WAL.
    for (const sql of ["journal_mode = WAL", "synchronous = FULL", "fullfsync = ON"])
      await retryWhileLocked(() => engine.exec(`PRAGMA ${sql}`));
    await retryWhileLocked(() => engine.exec("SELECT 1 FROM sqlite_master"));
    return engine;
  } catch (error) {
    engine.close();
    throw error;
  }
}

/** Creates folder and file if needed. `mapError` converts errors of the file and of SQLite into those that are thrown. */
export async function openSqlite(
  folder: string,
  mapError: MapError = (error) => error,
  name = "actions.sqlite",
): Promise<Database> {
  const throwMapped = (error: unknown): never => {
    throw mapError(error);
  };
  const path = await prepareFile(folder, name).catch(throwMapped);
  // Determined before the file is opened: if another file replaces it in between, the first statement detects that.
  const identity = fileIdentity(path);
  const engine = await openEngine(path).catch(throwMapped);
  // The side files exist as long as a connection is open. Servers with different WALs, or with different -shm files, which contain the WAL's
  // index and its locks, do not see each other's rows.
  const files = SUFFIXES.map((suffix) => path + suffix);
  const identities = [identity, ...files.slice(1).map(fileIdentity)];
  const prepared = new Map<string, Statement>();

  /** Throws if one of the files was replaced or deleted: an action that other servers do not see might run twice. Called before each write. */
  function assertInPlace(): void {
    // On Windows, an open file cannot be moved or deleted.
    if (process.platform === "win32" || files.every((file, index) => fileIdentity(file) === identities[index])) return;
    throw new Error(`${name} was moved, replaced or deleted while this server was running`);
  }

  function run(sql: string, values: readonly SqlValue[] | undefined): readonly DatabaseRow[] {
    if (!isSelect(sql)) assertInPlace();
    const statement = prepared.get(sql) ?? engine.prepare(sql);
    prepared.set(sql, statement);
    return statement.all(toNamedParameters(values)).filter(isRow);
  }

  const query: Database["query"] = (sql, values) => retryWhileLocked(() => run(sql, values), mapError);

  return {
    query,
    async withExclusiveTransaction(work) {
      await query("BEGIN IMMEDIATE");
      try {
        await work(query);
        await query("COMMIT");
      } catch (error) {
        try {
          engine.exec("ROLLBACK");
        } catch {
          // On a full disk, SQLite has already rolled the transaction back.
        }
        throw error;
      }
    },
    async close() {
      try {
        // The package's engine skips this on close while a statement is not garbage-collected.
        engine.exec("PRAGMA wal_checkpoint(TRUNCATE)");
      } catch {
        // The disk may be full. Data that stays in the WAL is equally durable.
      }
      prepared.clear();
      engine.close();
    },
  };
}
