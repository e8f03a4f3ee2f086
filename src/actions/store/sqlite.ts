// This module opens the store for one machine: an SQLite file that any number of processes can share. Statements that wait for
// other processes leave the event loop free.
import { existsSync, statSync } from "node:fs";
import { chmod, mkdir, open } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { errorMessage } from "../../core/failure.ts";
import { type Database, type DatabaseRow, isSelect, type MapError, type SqlValue } from "./database.ts";

/**
 * Total time that a statement waits for another process's write. Each try blocks for BLOCKING_BUSY_MS; the event loop is free in
 * between.
 */
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

async function retryWhileLocked<T>(work: () => T): Promise<T> {
  const deadline = performance.now() + BUSY_MS;
  for (;;) {
    try {
      return work();
    } catch (error) {
      if (!isBusy(error) || performance.now() > deadline) throw error;
    }
    await sleep(BUSY_RETRY_MS);
  }
}

const toNamedParameters = (values: readonly SqlValue[] = []): Record<string, SqlValue> =>
  Object.fromEntries(values.map((value, index) => [`$${index + 1}`, value]));

const isRow = (value: unknown): value is DatabaseRow => typeof value === "object" && value !== null;

/**
 * Creates the folder with mode 0700 and the file with 0600, so that only this user can read the actions. SQLite uses the same
 * mode for its side files.
 */
async function prepareFile(folder: string, name: string): Promise<string> {
  if (!existsSync(folder)) await mkdir(folder, { recursive: true, mode: 0o700 });
  const path = join(folder, name);
  const file = await open(path, "a", 0o600);
  await file.close();
  if (process.platform !== "win32") await chmod(path, 0o600);
  return path;
}

/** Returns an identifier of the file at a path; undefined if there is none. */
function fileIdentity(path: string): string | undefined {
  const stats = statSync(path, { bigint: true, throwIfNoEntry: false });
  return stats && `${stats.dev}:${stats.ino}`;
}

async function openEngine(path: string): Promise<Engine> {
  const engine = new (await loadEngine())(path, { timeout: BLOCKING_BUSY_MS });
  try {
    await retryWhileLocked(() => engine.exec("PRAGMA journal_mode = WAL"));
    engine.exec("PRAGMA synchronous = FULL");
    // The first read opens the WAL.
    await retryWhileLocked(() => engine.exec("SELECT 1 FROM sqlite_master"));
    return engine;
  } catch (error) {
    engine.close();
    throw error;
  }
}

/**
 * Opens a file in a folder, and creates both if needed. `mapError` converts errors of the file and of SQLite into those that are
 * thrown.
 */
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
  // The WAL exists as long as a connection is open. If only the database file is put back, a new WAL may be next to it.
  const wal = `${path}-wal`;
  const walIdentity = fileIdentity(wal);
  const prepared = new Map<string, Statement>();

  /** Throws if the file was replaced or deleted: an action that other servers do not see might run twice. Called before each write. */
  function assertInPlace(): void {
    // On Windows, an open file cannot be moved or deleted.
    if (process.platform === "win32" || (fileIdentity(path) === identity && fileIdentity(wal) === walIdentity)) return;
    throw new Error(`${name} was moved, replaced or deleted while this server was running`);
  }

  function run(sql: string, values: readonly SqlValue[] | undefined): readonly DatabaseRow[] {
    if (!isSelect(sql)) assertInPlace();
    const statement = prepared.get(sql) ?? engine.prepare(sql);
    prepared.set(sql, statement);
    return statement.all(toNamedParameters(values)).filter(isRow);
  }

  const query: Database["query"] = (sql, values) => retryWhileLocked(() => run(sql, values)).catch(throwMapped);

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
