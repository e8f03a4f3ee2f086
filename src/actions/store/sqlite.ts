// The store on this machine: an SQLite file that any number of processes share. Statements wait for other processes with the event loop free.
import { existsSync, statSync } from "node:fs";
import { chmod, mkdir, open } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { errorMessage } from "../../core/failure.ts";
import type { Database, DatabaseRow, MapError, SqlValue } from "./database.ts";

/** How long a statement waits for another process's write: at once without, then with the event loop free in between. */
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

/** Node's own SQLite if this Node has one (22.16 and later); else the same API from a package. */
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

// By its message: the package's statements give no code.
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

/** Only this user may read what agents did: the folder is made 0700, the file 0600 (SQLite gives its side files the same). */
async function prepareFile(folder: string, name: string): Promise<string> {
  if (!existsSync(folder)) await mkdir(folder, { recursive: true, mode: 0o700 });
  const path = join(folder, name);
  const file = await open(path, "a", 0o600);
  await file.close();
  if (process.platform !== "win32") await chmod(path, 0o600);
  return path;
}

/** Which file a path leads to; undefined if there is none. */
function fileIdentity(path: string): string | undefined {
  const stats = statSync(path, { bigint: true, throwIfNoEntry: false });
  return stats && `${stats.dev}:${stats.ino}`;
}

async function openEngine(path: string): Promise<Engine> {
  const engine = new (await loadEngine())(path, { timeout: BLOCKING_BUSY_MS });
  try {
    await retryWhileLocked(() => engine.exec("PRAGMA journal_mode = WAL"));
    engine.exec("PRAGMA synchronous = FULL");
    // The first reading opens the WAL.
    await retryWhileLocked(() => engine.exec("SELECT 1 FROM sqlite_master"));
    return engine;
  } catch (error) {
    engine.close();
    throw error;
  }
}

/** Opens a file of a folder, and creates both if needed. `explain`: what is thrown instead of an error of the file or of SQLite. */
export async function openSqlite(
  folder: string,
  mapError: MapError = (error) => error,
  name = "actions.sqlite",
): Promise<Database> {
  const throwMapped = (error: unknown): never => {
    throw mapError(error);
  };
  const path = await prepareFile(folder, name).catch(throwMapped);
  // Before it is opened: if another file takes its place in between, the first statement detects it.
  const identity = fileIdentity(path);
  const engine = await openEngine(path).catch(throwMapped);
  // It stays as long as a connection is open. If only the file is put back, a new WAL may lie beside it.
  const wal = `${path}-wal`;
  const walIdentity = fileIdentity(wal);
  const prepared = new Map<string, Statement>();

  /** Throws if another file or none is in its place: an action that other servers do not see might run twice. */
  function assertInPlace(): void {
    // Windows does not move or delete an open file.
    if (process.platform === "win32" || (fileIdentity(path) === identity && fileIdentity(wal) === walIdentity)) return;
    throw new Error(`${name} was moved, replaced or deleted while this server was running`);
  }

  function run(sql: string, values: readonly SqlValue[] | undefined): readonly DatabaseRow[] {
    assertInPlace();
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
          // A full disk has rolled it back already.
        }
        throw error;
      }
    },
    async close() {
      try {
        // The package's engine leaves this undone while a statement is not garbage-collected.
        engine.exec("PRAGMA wal_checkpoint(TRUNCATE)");
      } catch {
        // A full disk, perhaps: what stays in the WAL is as durable there.
      }
      prepared.clear();
      engine.close();
    },
  };
}
