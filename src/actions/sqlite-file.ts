// One SQLite file, opened: statements wait for other processes with the event loop free, and the WAL is kept short.
import { existsSync, rmSync, statSync } from "node:fs";
import { chmod, mkdir, open } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { reasonOf } from "../failure.ts";
import type { Database, DatabaseRow, Value } from "./database.ts";

/** How long a statement waits for another process's write: at once without, then with the event loop free in between. */
const BUSY_MS = 5_000;
const BUSY_AT_ONCE_MS = 50;
const BUSY_PAUSE_MS = 25;
/** No longer than this after a write it stands in the WAL alone. */
const IN_WAL_MS = 1_000;
/** The journal's. */
const FILE = "actions.sqlite";
const SIDE_FILES = ["-wal", "-shm"];

interface Statement {
  all(parameters: Record<string, Value>): unknown[];
}
interface Engine {
  exec(sql: string): void;
  prepare(sql: string): Statement;
  close(): void;
}
type EngineClass = new (path: string, options: { timeout: number }) => Engine;

const hasEngine = (module: unknown): module is { DatabaseSync: EngineClass } =>
  typeof module === "object" && module !== null && "DatabaseSync" in module;

/** node's own SQLite where this node has one (22.16 and later); else the same API from a package. */
async function loadEngine(): Promise<EngineClass> {
  const warn = process.emitWarning;
  // node 22 warns that its SQLite is experimental; the tests run on it.
  process.emitWarning = () => undefined;
  const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
  const own: unknown =
    major > 22 || (major === 22 && minor >= 16) ? process.getBuiltinModule("node:sqlite") : undefined;
  process.emitWarning = warn;
  return hasEngine(own) ? own.DatabaseSync : (await import("@photostructure/sqlite")).DatabaseSync;
}

// By its message: the package's statements give no code.
const isBusy = (error: unknown): boolean => /database is locked/.test(reasonOf(error));

async function whenFree<T>(work: () => T): Promise<T> {
  const until = performance.now() + BUSY_MS;
  for (;;) {
    try {
      return work();
    } catch (error) {
      if (!isBusy(error) || performance.now() > until) throw error;
    }
    await sleep(BUSY_PAUSE_MS);
  }
}

const named = (values: readonly Value[] = []): Record<string, Value> =>
  Object.fromEntries(values.map((value, index) => [`$${index + 1}`, value]));

const isReading = (sql: string): boolean => /^\s*SELECT/i.test(sql);

/** Sets of values that are remembered for one question; beyond that it begins anew. */
const MAX_KNOWN_EMPTY = 500;

const isRow = (value: unknown): value is DatabaseRow => typeof value === "object" && value !== null;

/** Nobody else may read what agents did: the folder is made 0700, the file 0600 (SQLite gives its side files the same). */
async function prepareFile(folder: string, name: string): Promise<string> {
  if (!existsSync(folder)) await mkdir(folder, { recursive: true, mode: 0o700 });
  const path = join(folder, name);
  const file = await open(path, "a", 0o600);
  await file.close();
  if (process.platform !== "win32") await chmod(path, 0o600);
  return path;
}

/** Which file a path leads to; undefined where there is none. */
function identityOf(path: string): string | undefined {
  const stats = statSync(path, { bigint: true, throwIfNoEntry: false });
  return stats && `${stats.dev}:${stats.ino}`;
}

export interface SqliteFile extends Database {
  /** Whether its path still leads to it. True on Windows, where an open file stays where it is. */
  isInPlace(): boolean;
  /** Of a file that is not in its place: what lies beside the place and is its own would be taken for its successor's. */
  removeSideFiles(): void;
}

export async function openFile(folder: string, name = FILE): Promise<SqliteFile> {
  const path = await prepareFile(folder, name);
  // Before it is opened: if another one comes in between, that is noticed at the first statement.
  const identity = identityOf(path);
  const engine = new (await loadEngine())(path, { timeout: BUSY_AT_ONCE_MS });

  /**
   * Empties the WAL into the file. It waits for nobody, and hardly anybody for it: PASSIVE copies without the lock that a
   * writer needs, so that TRUNCATE has next to nothing left to do. False when somebody was in the way.
   */
  function emptyWal(): boolean {
    engine.exec("PRAGMA busy_timeout = 0");
    try {
      engine.exec("PRAGMA wal_checkpoint(PASSIVE)");
      const [done] = engine.prepare("PRAGMA wal_checkpoint(TRUNCATE)").all({});
      return isRow(done) && done["busy"] === 0;
    } catch {
      // A full disk, perhaps. What stays in the WAL is as durable there, as long as the files stay together.
      return true;
    } finally {
      engine.exec(`PRAGMA busy_timeout = ${BUSY_AT_ONCE_MS}`);
    }
  }

  try {
    await whenFree(() => engine.exec("PRAGMA journal_mode = WAL"));
    engine.exec("PRAGMA synchronous = FULL");
    emptyWal();
  } catch (error) {
    engine.close();
    throw error;
  }
  const sideFiles = SIDE_FILES.map((suffix) => ({ path: path + suffix, identity: identityOf(path + suffix) }));
  const prepared = new Map<string, Statement>();

  let alarm: NodeJS.Timeout | undefined;
  function emptyWalSoon(): void {
    alarm ??= setTimeout(() => {
      alarm = undefined;
      if (!emptyWal()) emptyWalSoon();
    }, IN_WAL_MS).unref();
  }

  function prepare(sql: string): Statement {
    const known = prepared.get(sql) ?? engine.prepare(sql);
    prepared.set(sql, known);
    return known;
  }

  /**
   * Questions that have found nothing since anybody wrote, each with the values it was asked with. Whoever reads a job asks two
   * about it, and nearly always the answer is nothing: then it costs no more than to ask whether anybody has written meanwhile.
   * So an answer may hang on the text, its values and the rows alone: no question asks SQLite for the time.
   */
  const knownEmpty = new Map<string, Set<string>>();
  const version = engine.prepare("PRAGMA data_version");
  let versionSeen: unknown;

  /** Forgets what was found before another connection's last write. */
  function forgetIfWritten(): void {
    const [row] = version.all({});
    const current = isRow(row) ? row["data_version"] : undefined;
    if (current !== versionSeen) knownEmpty.clear();
    versionSeen = current;
  }

  function read(sql: string, values: readonly Value[] = []): readonly unknown[] {
    forgetIfWritten();
    const name = JSON.stringify(values);
    const empty = knownEmpty.get(sql);
    if (empty?.has(name)) return [];
    const rows = prepare(sql).all(named(values));
    if (rows.length === 0) {
      if (empty && empty.size < MAX_KNOWN_EMPTY) empty.add(name);
      else knownEmpty.set(sql, new Set([name]));
    }
    return rows;
  }

  function write(sql: string, values: readonly Value[] | undefined): readonly unknown[] {
    knownEmpty.clear();
    return prepare(sql).all(named(values));
  }

  const query: Database["query"] = async (sql, values) => {
    if (isReading(sql)) return (await whenFree(() => read(sql, values))).filter(isRow);
    const rows = await whenFree(() => write(sql, values));
    emptyWalSoon();
    return rows.filter(isRow);
  };

  return {
    query,
    async exclusively(work) {
      await whenFree(() => engine.exec("BEGIN IMMEDIATE"));
      try {
        await work(query);
        await whenFree(() => engine.exec("COMMIT"));
        emptyWalSoon();
      } catch (error) {
        knownEmpty.clear();
        try {
          engine.exec("ROLLBACK");
        } catch {
          // A full disk has rolled it back already.
        }
        throw error;
      }
    },
    async close() {
      clearTimeout(alarm);
      prepared.clear();
      emptyWal();
      engine.close();
    },
    isInPlace: () => process.platform === "win32" || (identity !== undefined && identityOf(path) === identity),
    removeSideFiles() {
      for (const side of sideFiles) if (identityOf(side.path) === side.identity) rmSync(side.path, { force: true });
    },
  };
}
