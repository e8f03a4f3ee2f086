// This module opens the store for several machines: a PostgreSQL database, on one server or on the primary of several.
import { setMaxListeners } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { withTimeout } from "../core/async.ts";
import { errorMessage } from "../core/failure.ts";
import type { Telemetry } from "../telemetry/port.ts";
import {
  type Connection,
  createConnection,
  createPrimaryFinder,
  FIND_TIMEOUT_MS,
  isBroken,
  isStatementRefused,
  isStatementTimeout,
  isTooManyConnections,
  NoPrimary,
} from "./connection.ts";
import { type Database, isSelect, type MapError, POSTGRES_CLOCK, ResponseLost, type SqlValue } from "./database.ts";

const CONNECT_MS = 5_000;
const STATEMENT_MS = 10_000;
const RETRY_PAUSE_MS = 100;
/** A statement waits this long for a connection. */
const POOL_WAIT_MS = 5_000;
/** An idle connection is closed after this time. */
const IDLE_MS = 10_000;
/** A number that other programs are unlikely to lock on: "mic-" in ASCII (32 bits). */
const ADVISORY_LOCK_ID = 0x6d69632d;
const DEFAULT_CONNECTIONS = 4;
/** This part of the connections is reserved for statements that only read. They work while commits wait for a replica. */
const READ_SHARE = 1 / 8;
/** While commits wait for a replica, the server is asked for them at this interval. */
const WAITS_CHECK_MS = 1_000;
const WAITS_TIMEOUT_MS = 2_000;
/** Every role can read the waits of its own connections. */
const WAITS_SQL = "SELECT pid FROM pg_stat_activity WHERE wait_event = 'SyncRep'";

/**
 * These settings override those of the role and the database. A commit is on disk when it returns, and on a replica if there are
 * synchronous ones. They are not startup options of the connection, because poolers such as pgbouncer refuse those.
 */
const SETTINGS = `SET synchronous_commit = on; SET statement_timeout = ${STATEMENT_MS}`;

export interface PostgresOptions {
  /** Maximum number of connections (default 4). */
  readonly connections?: number;
  /** After a failover, search for the new primary, even behind the same address, for up to FIND_TIMEOUT_MS (default false). */
  readonly failover?: boolean;
  /** Called on the first connection to a new or restarted server, or a new timeline, before any other statement. Only with `failover`. */
  readonly onNewServer?: (query: Connection["run"]) => Promise<void>;
  /** Converts an error of the connection or the server into the error that is thrown. */
  readonly mapError?: MapError;
  readonly telemetry?: Pick<Telemetry, "traceStatement"> | undefined;
}

export interface PostgresDatabase extends Database {
  readonly clock: string;
  waitingCount(): number;
}

/** A connection to the server that was the primary in this generation. */
interface PooledConnection {
  readonly connection: Connection;
  readonly generation: number;
  readonly url: string;
  /** The id of its process at the server, if it is known. */
  pid?: number;
  idleTimer?: NodeJS.Timeout;
}

/** Returns the processes whose commits wait for a replica; undefined for all, if the server accepts no more connections. */
async function readWaits(url: string): Promise<ReadonlySet<number> | undefined> {
  const connection = createConnection({ url, name: "mic-mcp", timeoutMs: WAITS_TIMEOUT_MS });
  try {
    return new Set((await connection.run(WAITS_SQL)).map(({ pid }) => Number(pid)));
  } catch (error) {
    return isTooManyConnections(error) ? undefined : new Set();
  } finally {
    connection.close();
  }
}

/** At most `size` connections to the current primary. Statements wait for a connection, and idle connections are closed. */
function createPool(urls: string, size: number, { failover = false, onNewServer }: PostgresOptions) {
  const primary = failover ? createPrimaryFinder(urls.split(",")) : undefined;
  const waitMs = failover ? FIND_TIMEOUT_MS + POOL_WAIT_MS : POOL_WAIT_MS;
  const idle = new Set<PooledConnection>();
  const queue: { readonly limit: number; readonly grant: () => void }[] = [];
  const writeLimit = Math.max(1, size - Math.ceil(size * READ_SHARE));
  /** Connections whose statements exceeded their time limits, and still wait for an answer. Each occupies a slot. */
  const held = new Set<PooledConnection>();
  let isWatching = false;
  const closing = new AbortController();
  // Each statement that waits for a connection adds a listener, and Node warns of more than 10.
  setMaxListeners(0, closing.signal);
  let inUse = 0;
  let url: Promise<string> | undefined;
  /** Increases when the primary must be searched for again. Connections of earlier generations are no longer used. */
  let generation = 0;
  /** The server for which `onNewServer` was called last. */
  let latest: { readonly server: string; readonly isChecked: Promise<void> | undefined } | undefined;

  function takeIdle(): PooledConnection | undefined {
    const [pooled] = idle;
    if (!pooled) return undefined;
    clearTimeout(pooled.idleTimer);
    idle.delete(pooled);
    pooled.connection.setIdle(false);
    return pooled;
  }

  function closeIdle(): void {
    for (let pooled = takeIdle(); pooled; pooled = takeIdle()) pooled.connection.close();
  }

  function returnToPool(pooled: PooledConnection): void {
    const close = (): void => {
      idle.delete(pooled);
      pooled.connection.close();
    };
    pooled.connection.setIdle(true);
    pooled.idleTimer = setTimeout(close, IDLE_MS).unref();
    if (closing.signal.aborted || pooled.generation !== generation) close();
    else idle.add(pooled);
  }

  /** Starts a new generation after a server of the current one is lost. Without failover, it has no effect. */
  function dropGeneration(lostGeneration: number): void {
    if (!primary || lostGeneration !== generation) return;
    generation += 1;
    url = undefined;
    closeIdle();
  }

  async function checkServer(server: string, { run }: Connection): Promise<void> {
    if (latest?.server !== server) latest = { server, isChecked: onNewServer?.(run) };
    const current = latest;
    try {
      await current.isChecked;
    } catch (error) {
      if (latest === current) latest = undefined;
      throw error;
    }
  }

  async function openPooled(): Promise<PooledConnection> {
    url ??= (primary ? primary.find() : Promise.resolve(urls)).catch((error: unknown) => {
      url = undefined;
      throw error;
    });
    // If the connection is in use, its statement fails instead.
    const onLost = (): void => void (idle.delete(pooled) && dropGeneration(pooled.generation));
    const serverUrl = await url;
    const connection = createConnection({ url: serverUrl, name: "mic-mcp", timeoutMs: STATEMENT_MS, onLost });
    const pooled: PooledConnection = { connection, generation, url: serverUrl };
    try {
      await connection.run(SETTINGS, [], CONNECT_MS);
      if (primary) {
        const { server, pid } = await primary.identify(connection);
        pooled.pid = pid;
        await checkServer(server, connection);
      }
      return pooled;
    } catch (error) {
      connection.close();
      if (isBroken(error)) dropGeneration(pooled.generation);
      throw error;
    }
  }

  async function acquireConnection(): Promise<PooledConnection> {
    const endsAt = performance.now() + FIND_TIMEOUT_MS;
    for (;;) {
      const before = generation;
      try {
        return takeIdle() ?? (await openPooled());
      } catch (error) {
        // Another server may be the primary by now. If the search found none, it has already waited for one.
        const isRetryable = primary && (generation !== before || isTooManyConnections(error));
        if (!isRetryable || performance.now() > endsAt) throw error;
        await sleep(RETRY_PAUSE_MS);
      }
    }
  }

  async function acquireSlot(limit: number): Promise<void> {
    closing.signal.throwIfAborted();
    if (inUse < limit) {
      inUse += 1;
      return;
    }
    let entry = { limit, grant: (): void => undefined };
    const granted = new Promise<void>((resolve) => {
      entry = { limit, grant: resolve };
      queue.push(entry);
    });
    const timeoutError = () => new Error(`all ${limit} connections have been busy for ${waitMs / 1_000} s`);
    await withTimeout(granted, { signal: closing.signal, timeoutMs: waitMs, timeoutError }).catch((error: unknown) => {
      queue.splice(queue.indexOf(entry), 1);
      throw error;
    });
  }

  function releaseSlot(): void {
    inUse -= 1;
    const next = queue.findIndex(({ limit }) => inUse < limit);
    if (next === -1) return;
    inUse += 1;
    for (const { grant } of queue.splice(next, 1)) grant();
  }

  function releaseHeld(pooled: PooledConnection): void {
    if (!held.delete(pooled)) return;
    pooled.connection.close();
    releaseSlot();
  }

  /**
   * Keeps the slot of a statement that exceeded its time limit while its commit waits for a replica. PostgreSQL does not end that wait, even
   * if the connection is closed, so a new connection would be one more at the server.
   */
  async function hold(pooled: PooledConnection): Promise<void> {
    held.add(pooled);
    pooled.connection.setIdle(true);
    void pooled.connection.waitForAnswer().then(() => releaseHeld(pooled));
    if (isWatching) return;
    isWatching = true;
    for (let [first] = held; first; [first] = held) {
      const { url: serverUrl } = first;
      const waits = await readWaits(serverUrl);
      for (const each of held) if (each.url !== serverUrl || waits?.has(each.pid ?? -1) === false) releaseHeld(each);
      await sleep(WAITS_CHECK_MS, undefined, { ref: false });
    }
    isWatching = false;
  }

  return {
    waitingCount: () => queue.length,
    /** Runs `work` on one connection. After an error the connection may be stuck, so it is closed. */
    async withConnection<T>(work: (run: Connection["run"]) => Promise<T>, isRead = false): Promise<T> {
      await acquireSlot(isRead ? size : writeLimit);
      let isHeld = false;
      try {
        const pooled = await acquireConnection();
        try {
          const result = await work(pooled.connection.run);
          returnToPool(pooled);
          return result;
        } catch (error) {
          isHeld = isStatementTimeout(error) && !isRead && pooled.pid !== undefined;
          if (isHeld) void hold(pooled);
          else pooled.connection.close();
          if (isBroken(error)) dropGeneration(pooled.generation);
          throw error;
        }
      } finally {
        if (!isHeld) releaseSlot();
      }
    },
    close() {
      for (const pooled of held) releaseHeld(pooled);
      closing.abort(new Error("the database has been closed"));
      closeIdle();
    },
  };
}

/** Opens a PostgreSQL database. `urls`: the comma-separated URLs of the database on all its servers. */
export async function openPostgres(urls: string, options: PostgresOptions = {}): Promise<PostgresDatabase> {
  const { connections = DEFAULT_CONNECTIONS, failover = false, mapError = (error) => error, telemetry } = options;
  const pool = createPool(urls, connections, options);
  const throwMapped = (error: unknown): never => {
    throw mapError(error);
  };

  async function runOnce(sql: string, values: readonly SqlValue[]) {
    let isSent = false;
    try {
      return await pool.withConnection((run) => {
        isSent = true;
        return run(sql, values);
      }, isSelect(sql));
    } catch (error) {
      if (!isSent || !isBroken(error) || isSelect(sql) || isStatementRefused(error)) throw error;
      throw new ResponseLost(errorMessage(error), { cause: error });
    }
  }

  /** True if nothing can have been executed, and a retry on the current primary may succeed. */
  const isRetryable = (error: unknown): boolean =>
    failover && isBroken(error) && !(error instanceof ResponseLost) && !(error instanceof NoPrimary);

  const query: Database["query"] = (sql, values = []) => {
    const run = () =>
      runOnce(sql, values).catch((error: unknown) =>
        isRetryable(error) ? runOnce(sql, values) : Promise.reject(error),
      );
    return (telemetry?.traceStatement(sql, run) ?? run()).catch(throwMapped);
  };

  return {
    query,
    async withExclusiveTransaction(work, lock) {
      let hasBegun = false;
      // After an error the connection is closed, which ends the transaction.
      const runTransaction = () =>
        pool.withConnection(async (run) => {
          await run("BEGIN");
          if (lock === undefined) await run("SELECT pg_advisory_xact_lock($1)", [ADVISORY_LOCK_ID]);
          else await run("SELECT pg_advisory_xact_lock($1, hashtext($2))", [ADVISORY_LOCK_ID, lock]);
          hasBegun = true;
          await work((sql, values) => run(sql, values).catch(throwMapped));
          await run("COMMIT");
        });
      await runTransaction()
        .catch((error: unknown) => (hasBegun || !isRetryable(error) ? Promise.reject(error) : runTransaction()))
        .catch((error: unknown) => (hasBegun ? Promise.reject(error) : throwMapped(error)));
    },
    // This time is constant within a statement, so the times that it writes into a row are equal.
    clock: POSTGRES_CLOCK,
    waitingCount: pool.waitingCount,
    close: async () => pool.close(),
  };
}
