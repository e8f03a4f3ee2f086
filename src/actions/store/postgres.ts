// The store of many machines: a PostgreSQL database, on one server or on whichever of several is the primary.
import { setTimeout as sleep } from "node:timers/promises";
import { withTimeout } from "../../core/async.ts";
import { errorMessage } from "../../core/failure.ts";
import {
  type Connection,
  createConnection,
  isBroken,
  isStatementRefused,
  isTooManyConnections,
  NoPrimary,
} from "./connection.ts";
import { type Database, type MapError, ResponseLost, type SqlValue } from "./database.ts";
import { createPrimaryFinder, FIND_TIMEOUT_MS } from "./primary.ts";

const CONNECT_MS = 5_000;
const STATEMENT_MS = 10_000;
const RETRY_PAUSE_MS = 100;
/** A statement waits this long for a connection. */
const POOL_WAIT_MS = 5_000;
/** An idle connection is closed after this time. */
const IDLE_MS = 10_000;
/** Any number that no other program locks on: "mic-mcp" in ASCII, cut to 32 bits. */
const ADVISORY_LOCK_ID = 0x6d69632d;
const DEFAULT_CONNECTIONS = 4;

/**
 * Whatever the role or the database says: a commit is on disk when it returns, and on a replica if there are synchronous ones. Not as
 * options of the connection's start, which poolers such as pgbouncer refuse.
 */
const SETTINGS = `SET synchronous_commit = on; SET statement_timeout = ${STATEMENT_MS}`;

const isSelect = (sql: string): boolean => /^\s*SELECT/i.test(sql);

export interface PostgresOptions {
  /** At most (default 4). */
  readonly connections?: number;
  /** After a failover another server, or another one behind the same address, is the primary: look for it, for FIND_MS. */
  readonly failover?: boolean;
  /** What is thrown instead of an error of the connection or the server. */
  readonly mapError?: MapError;
}

export interface PostgresDatabase extends Database {
  readonly clock: string;
  /** Statements that wait for a connection now. */
  waitingCount(): number;
}

/** A connection to the server that was the primary in this generation. */
interface PooledConnection {
  readonly connection: Connection;
  readonly generation: number;
  idleTimer?: NodeJS.Timeout;
}

/** At most `size` connections to the primary of now; statements wait in line for one, and connections are closed when idle. */
function createPool(urls: string, size: number, failover: boolean) {
  const primary = failover ? createPrimaryFinder(urls.split(",")) : undefined;
  const waitMs = failover ? FIND_TIMEOUT_MS + POOL_WAIT_MS : POOL_WAIT_MS;
  const idle = new Set<PooledConnection>();
  const queue: (() => void)[] = [];
  const closing = new AbortController();
  let inUse = 0;
  let url: Promise<string> | undefined;
  /** Increases when the primary has to be looked for again: no connection of before is used any more. */
  let generation = 0;

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

  /** A server of this generation is lost. With one address for all that comes there is no other to look for. */
  function dropGeneration(lostGeneration: number): void {
    if (!primary || lostGeneration !== generation) return;
    generation += 1;
    url = undefined;
    closeIdle();
  }

  async function openPooled(): Promise<PooledConnection> {
    url ??= (primary ? primary.find() : Promise.resolve(urls)).catch((error: unknown) => {
      url = undefined;
      throw error;
    });
    // While it is in use, its statement fails.
    const onLost = (): void => void (idle.delete(pooled) && dropGeneration(pooled.generation));
    const connection = createConnection({ url: await url, name: "mic-mcp", timeoutMs: STATEMENT_MS, onLost });
    const pooled: PooledConnection = { connection, generation };
    try {
      await connection.run(SETTINGS, [], CONNECT_MS);
      await primary?.check(connection);
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
        // Another server may be the primary by now. If none was found, the search has waited for one already.
        const isRetryable = primary && (generation !== before || isTooManyConnections(error));
        if (!isRetryable || performance.now() > endsAt) throw error;
        await sleep(RETRY_PAUSE_MS);
      }
    }
  }

  async function acquireSlot(): Promise<void> {
    closing.signal.throwIfAborted();
    if (inUse < size) {
      inUse += 1;
      return;
    }
    let grantSlot = (): void => undefined;
    const granted = new Promise<void>((resolve) => {
      grantSlot = resolve;
      queue.push(grantSlot);
    });
    const timeoutError = () => new Error(`all ${size} connections have been busy for ${waitMs / 1_000} s`);
    await withTimeout(granted, { signal: closing.signal, timeoutMs: waitMs, timeoutError }).catch((error: unknown) => {
      queue.splice(queue.indexOf(grantSlot), 1);
      throw error;
    });
  }

  function releaseSlot(): void {
    const next = queue.shift();
    if (next) next();
    else inUse -= 1;
  }

  return {
    waitingCount: () => queue.length,
    /** One on which anything fails may be stuck, and is closed. */
    async withConnection<T>(work: (run: Connection["run"]) => Promise<T>): Promise<T> {
      await acquireSlot();
      try {
        const pooled = await acquireConnection();
        try {
          const result = await work(pooled.connection.run);
          returnToPool(pooled);
          return result;
        } catch (error) {
          pooled.connection.close();
          if (isBroken(error)) dropGeneration(pooled.generation);
          throw error;
        }
      } finally {
        releaseSlot();
      }
    },
    close() {
      closing.abort(new Error("the database has been closed"));
      closeIdle();
    },
  };
}

/** `urls`: of one database on all its servers, comma-separated. */
export async function openPostgres(urls: string, options: PostgresOptions = {}): Promise<PostgresDatabase> {
  const { connections = DEFAULT_CONNECTIONS, failover = false, mapError = (error) => error } = options;
  const pool = createPool(urls, connections, failover);
  const throwMapped = (error: unknown): never => {
    throw mapError(error);
  };

  async function runOnce(sql: string, values: readonly SqlValue[]) {
    let isSent = false;
    try {
      return await pool.withConnection((run) => {
        isSent = true;
        return run(sql, values);
      });
    } catch (error) {
      if (!isSent || !isBroken(error) || isSelect(sql) || isStatementRefused(error)) throw error;
      throw new ResponseLost(errorMessage(error), { cause: error });
    }
  }

  /** Nothing can have been done, and another try on the primary of now may succeed. */
  const isRetryable = (error: unknown): boolean =>
    failover && isBroken(error) && !(error instanceof ResponseLost) && !(error instanceof NoPrimary);

  const query: Database["query"] = (sql, values = []) =>
    runOnce(sql, values)
      .catch((error: unknown) => (isRetryable(error) ? runOnce(sql, values) : Promise.reject(error)))
      .catch(throwMapped);

  return {
    query,
    async withExclusiveTransaction(work, lock) {
      let hasBegun = false;
      // What fails in between ends with the connection.
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
    // Of one statement: a row's times are the same.
    clock: "CAST(EXTRACT(EPOCH FROM statement_timestamp()) * 1000 AS BIGINT)",
    waitingCount: pool.waitingCount,
    close: async () => pool.close(),
  };
}
