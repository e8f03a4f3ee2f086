// The store of many machines: a PostgreSQL database, on one server or on whichever of several is the primary.
import { setTimeout as sleep } from "node:timers/promises";
import { withTimeout } from "../../core/async.ts";
import { errorMessage } from "../../core/failure.ts";
import { type Connection, createConnection, isBroken, isFull, isRefused, NoPrimary } from "./connection.ts";
import { AnswerLost, type Database, type Explain, type Value } from "./database.ts";
import { createPrimary, FIND_MS } from "./primary.ts";

const CONNECT_MS = 5_000;
const STATEMENT_MS = 10_000;
const PAUSE_MS = 100;
/** A statement waits this long for a connection. */
const WAIT_MS = 5_000;
/** An idle connection is closed after this time. */
const IDLE_MS = 10_000;
/** Any number that no other program locks on: "mic-mcp" in ASCII, cut to 32 bits. */
const LOCK = 0x6d69632d;
const CONNECTIONS = 4;

/**
 * Whatever the role or the database says: a commit is on disk when it returns, and on a replica if there are synchronous ones. Not as
 * options of the connection's start, which poolers such as pgbouncer refuse.
 */
const SETTINGS = `SET synchronous_commit = on; SET statement_timeout = ${STATEMENT_MS}`;

const isReading = (sql: string): boolean => /^\s*SELECT/i.test(sql);

export interface PostgresOptions {
  /** At most (default 4). */
  readonly connections?: number;
  /** After a failover another server, or another one behind the same address, is the primary: look for it, for FIND_MS. */
  readonly failover?: boolean;
  /** What is thrown instead of an error of the connection or the server. */
  readonly explain?: Explain;
}

export interface PostgresDatabase extends Database {
  readonly clock: string;
  /** Statements that wait for a connection now. */
  waiting(): number;
}

/** A connection to the server that was the primary in this generation. */
interface Pooled {
  readonly connection: Connection;
  readonly generation: number;
  idleTimer?: NodeJS.Timeout;
}

/** At most `size` connections to the primary of now; statements wait in line for one, and connections are closed when idle. */
function createPool(urls: string, size: number, failover: boolean) {
  const primary = failover ? createPrimary(urls.split(",")) : undefined;
  const waitMs = failover ? FIND_MS + WAIT_MS : WAIT_MS;
  const idle = new Set<Pooled>();
  const line: (() => void)[] = [];
  const closing = new AbortController();
  let taken = 0;
  let url: Promise<string> | undefined;
  /** Increases when the primary has to be looked for again: no connection of before is used any more. */
  let generation = 0;

  function takeIdle(): Pooled | undefined {
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

  function giveBack(pooled: Pooled): void {
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
  function forget(lost: number): void {
    if (!primary || lost !== generation) return;
    generation += 1;
    url = undefined;
    closeIdle();
  }

  async function open(): Promise<Pooled> {
    url ??= (primary ? primary.find() : Promise.resolve(urls)).catch((error: unknown) => {
      url = undefined;
      throw error;
    });
    // While it is in use, its statement fails.
    const onLost = (): void => void (idle.delete(pooled) && forget(pooled.generation));
    const connection = createConnection({ url: await url, name: "mic-mcp", limitMs: STATEMENT_MS, onLost });
    const pooled: Pooled = { connection, generation };
    try {
      await connection.run(SETTINGS, [], CONNECT_MS);
      await primary?.check(connection);
      return pooled;
    } catch (error) {
      connection.close();
      if (isBroken(error)) forget(pooled.generation);
      throw error;
    }
  }

  async function connect(): Promise<Pooled> {
    const endsAt = performance.now() + FIND_MS;
    for (;;) {
      const before = generation;
      try {
        return takeIdle() ?? (await open());
      } catch (error) {
        // Another server may be the primary by now. If none was found, the search has waited for one already.
        const isWorthRepeating = primary && (generation !== before || isFull(error));
        if (!isWorthRepeating || performance.now() > endsAt) throw error;
        await sleep(PAUSE_MS);
      }
    }
  }

  async function enter(): Promise<void> {
    closing.signal.throwIfAborted();
    if (taken < size) {
      taken += 1;
      return;
    }
    let admit = (): void => undefined;
    const admitted = new Promise<void>((resolve) => {
      admit = resolve;
      line.push(admit);
    });
    const timeoutError = () => new Error(`all ${size} connections have been busy for ${waitMs / 1_000} s`);
    await withTimeout(admitted, { signal: closing.signal, timeoutMs: waitMs, timeoutError }).catch((error: unknown) => {
      line.splice(line.indexOf(admit), 1);
      throw error;
    });
  }

  function leave(): void {
    const next = line.shift();
    if (next) next();
    else taken -= 1;
  }

  return {
    waiting: () => line.length,
    /** One on which anything fails may be stuck, and is closed. */
    async use<T>(work: (run: Connection["run"]) => Promise<T>): Promise<T> {
      await enter();
      try {
        const pooled = await connect();
        try {
          const result = await work(pooled.connection.run);
          giveBack(pooled);
          return result;
        } catch (error) {
          pooled.connection.close();
          if (isBroken(error)) forget(pooled.generation);
          throw error;
        }
      } finally {
        leave();
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
  const { connections = CONNECTIONS, failover = false, explain = (error) => error } = options;
  const pool = createPool(urls, connections, failover);
  const explained = (error: unknown): never => {
    throw explain(error);
  };

  async function runOnce(sql: string, values: readonly Value[]) {
    let isSent = false;
    try {
      return await pool.use((run) => {
        isSent = true;
        return run(sql, values);
      });
    } catch (error) {
      if (!isSent || !isBroken(error) || isReading(sql) || isRefused(error)) throw error;
      throw new AnswerLost(errorMessage(error), { cause: error });
    }
  }

  /** Nothing can have been done, and another try on the primary of now may succeed. */
  const isWorthRepeating = (error: unknown): boolean =>
    failover && isBroken(error) && !(error instanceof AnswerLost) && !(error instanceof NoPrimary);

  const query: Database["query"] = (sql, values = []) =>
    runOnce(sql, values)
      .catch((error: unknown) => (isWorthRepeating(error) ? runOnce(sql, values) : Promise.reject(error)))
      .catch(explained);

  return {
    query,
    async exclusively(work, lock) {
      let hasBegun = false;
      // What fails in between ends with the connection.
      const once = () =>
        pool.use(async (run) => {
          await run("BEGIN");
          if (lock === undefined) await run("SELECT pg_advisory_xact_lock($1)", [LOCK]);
          else await run("SELECT pg_advisory_xact_lock($1, hashtext($2))", [LOCK, lock]);
          hasBegun = true;
          await work((sql, values) => run(sql, values).catch(explained));
          await run("COMMIT");
        });
      await once()
        .catch((error: unknown) => (hasBegun || !isWorthRepeating(error) ? Promise.reject(error) : once()))
        .catch((error: unknown) => (hasBegun ? Promise.reject(error) : explained(error)));
    },
    // Of one statement: a row's times are the same.
    clock: "CAST(EXTRACT(EPOCH FROM statement_timestamp()) * 1000 AS BIGINT)",
    waiting: pool.waiting,
    close: async () => pool.close(),
  };
}
