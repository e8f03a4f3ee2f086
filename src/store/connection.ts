// This module opens connections to PostgreSQL servers, finds the primary of several, which accepts writes, and rejects a former primary that
// returns after a failover. The `postgres` package implements only the protocol: with several hosts it would search for a primary without
// end, and it has no statement timeout. So this module and postgres.ts implement retries and time limits.
import { readFileSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import type { ConnectionOptions as TlsOptions } from "node:tls";
import postgres from "postgres";
import { errorCode, errorMessage } from "../core/failure.ts";
import type { DatabaseRow, SqlValue } from "./database.ts";

/** Sends values unchanged. By default, the driver would encode JSON text as a JSON string, and "true" as false. */
const createType = (oid: number, from: number[], parse: (text: string) => unknown) => ({
  to: oid,
  from,
  parse,
  serialize: String,
});
const TYPES = {
  boolean: createType(16, [16], (text) => text === "t"),
  // Times in milliseconds fit into a number.
  bigint: createType(20, [20], Number),
  json: createType(114, [114, 3802], JSON.parse),
};

/** The server is a standby or was the primary before a failover, or no server is the primary. */
export class NoPrimary extends Error {
  override readonly name = "NoPrimary";
}

/** SQLSTATEs of a server that shuts down, crashed, is starting, or refuses writes because it is a standby. */
const SERVER_UNAVAILABLE = new Set(["57P01", "57P02", "57P03", "25006"]);
/** Errors of the connection: SQLSTATE class 08 and socket errors. */
const CONNECTION_ERROR = /^(?:08|ECONNREFUSED|ECONNRESET|EPIPE|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|ENOTFOUND|EAI_AGAIN)/;
const QUERY_TIMEOUT = "Query read timeout";
const OWN_ERROR = /^(?:Connection terminated|Query read timeout|timeout expired)/;

/** True if neither this connection nor another one to the same server can be used. */
export function isBroken(error: unknown): boolean {
  if (error instanceof NoPrimary) return true;
  if (error instanceof AggregateError) return error.errors.some(isBroken);
  const code = errorCode(error);
  return SERVER_UNAVAILABLE.has(code) || CONNECTION_ERROR.test(code) || OWN_ERROR.test(errorMessage(error));
}

/** True if the server refused the statement before it had any effect. */
export const isStatementRefused = (error: unknown): boolean => ["25006", "57P03"].includes(errorCode(error));

const TOO_MANY_CONNECTIONS = "53300";

/** True if the server currently accepts no more connections. */
export const isTooManyConnections = (error: unknown): boolean => errorCode(error) === TOO_MANY_CONNECTIONS;

/** A server that accepts no more connections may be the primary, so it must not look as if there were none. */
const tooManyConnectionsError = (error: unknown): Error =>
  Object.assign(new Error(`it accepts no more connections (${errorMessage(error)})`), { code: TOO_MANY_CONNECTIONS });

/** True if a statement exceeded its time limit. The server may still execute it. */
export const isStatementTimeout = (error: unknown): boolean => errorMessage(error) === QUERY_TIMEOUT;

const connectionTerminatedError = (): Error => new Error("Connection terminated unexpectedly");

export interface ConnectionOptions {
  readonly url: string;
  /** The `application_name` of the connection. */
  readonly name: string;
  /** Time limit of each statement, which includes connecting for the first one. */
  readonly timeoutMs: number;
  /** Called when the connection ends without close(). */
  readonly onLost?: () => void;
}

export type Connection = ReturnType<typeof createConnection>;

const TLS_FILES = { sslrootcert: "ca", sslcert: "cert", sslkey: "key" };

/**
 * Removes the TLS parameters from the URL. Every mode that encrypts verifies the certificate, except `no-verify`. Without a mode, the
 * connection is encrypted if the server offers that, and the certificate is not verified.
 */
function extractTlsOptions({ searchParams }: URL): TlsOptions | "prefer" | false {
  const mode = searchParams.get("sslmode") ?? searchParams.get("ssl") ?? process.env["PGSSLMODE"];
  const files = Object.entries(TLS_FILES).flatMap(([name, option]) => {
    const path = searchParams.get(name);
    return path === null ? [] : [[option, readFileSync(path)]];
  });
  for (const name of ["sslmode", "ssl", ...Object.keys(TLS_FILES)]) searchParams.delete(name);
  if (mode === undefined && files.length === 0) return "prefer";
  const isPlain = mode === "allow" ? files.length === 0 : /^(?:disable|0|false)$/.test(mode ?? "");
  return isPlain ? false : { rejectUnauthorized: mode !== "no-verify", ...Object.fromEntries(files) };
}

interface SocketAddress {
  readonly host: readonly string[];
  readonly port: readonly number[];
  /** Path of a Unix socket. */
  readonly path: string | false;
}

/** Creates a connection that its first statement opens, and that is never reopened. */
export function createConnection({ url, name, timeoutMs, onLost }: ConnectionOptions) {
  const target = new URL(url);
  const ssl = extractTlsOptions(target);
  let isClosed = false;
  let socket: Socket | undefined;
  const options = {
    ssl,
    max: 1,
    // Array types are not needed, because no statement uses them.
    fetch_types: false,
    connect_timeout: 0,
    idle_timeout: 0,
    max_lifetime: 0,
    connection: { application_name: name },
    types: TYPES,
    onnotice: () => undefined,
    onclose() {
      if (!isClosed) onLost?.();
      isClosed = true;
    },
    // This option is documented, but missing in the types. A second socket would be a new connection without the settings of the first.
    socket({ host: [defaultHost = ""], port: [port = 0], path }: SocketAddress) {
      if (socket || isClosed) throw connectionTerminatedError();
      const [, host = defaultHost] = /^\[(.*)\]$/.exec(target.hostname) ?? [];
      // TLS verifies the certificate for this host.
      socket = Object.assign(path ? connect(path) : connect(port, host), { host });
      return socket;
    },
  };
  const sql = postgres(target.href, options);

  /**
   * pgbouncer may run a transaction on another connection to the server, which does not have the statements that were prepared before. The
   * driver prepares such a statement again, but the error has already ended the transaction.
   */
  let isInTransaction = false;

  let latest: Promise<unknown> = Promise.resolve();

  async function send(text: string, values: readonly SqlValue[]): Promise<readonly DatabaseRow[]> {
    if (text === "BEGIN" || text === "COMMIT") isInTransaction = text === "BEGIN";
    const prepare = values.length > 0 && !isInTransaction;
    try {
      return Array.from(await sql.unsafe<DatabaseRow[]>(text, [...values], { prepare }));
    } catch (error) {
      // The driver's own errors contain the address, which callers of a deployment must not see.
      throw errorCode(error).startsWith("CONNECTION_") ? connectionTerminatedError() : error;
    }
  }

  return {
    /** Runs a statement. Throws the errors of the server and of the socket. The state of the connection is then unknown, so close it. */
    run(text: string, values: readonly SqlValue[] = [], statementTimeoutMs = timeoutMs) {
      const sent = send(text, values);
      latest = sent;
      return new Promise<readonly DatabaseRow[]>((resolve, reject) => {
        const fail = () => reject(new Error(socket?.connecting === false ? QUERY_TIMEOUT : "timeout expired"));
        const timer = setTimeout(fail, statementTimeoutMs);
        sent.then(resolve, reject).finally(() => clearTimeout(timer));
      });
    },
    /** Resolves when the server has answered the latest statement, or the connection has ended. */
    waitForAnswer: async (): Promise<void> => void (await latest.catch(() => undefined)),
    /** Marks the connection as idle or not. An idle connection does not keep the process alive. */
    setIdle: (isIdle: boolean): void => void (isIdle ? socket?.unref() : socket?.ref()),
    /** Closes the connection without waiting, because the server may be stuck. */
    close(): void {
      isClosed = true;
      void sql
        .end({ timeout: 0 })
        .catch(() => undefined)
        .finally(() => socket?.destroySoon());
    },
  };
}

/** Time limit of the search for the primary. A failover takes some seconds. */
export const FIND_TIMEOUT_MS = 10_000;
const QUERY_TIMEOUT_MS = 2_000;
/** Time for the other servers to respond after the first one that may be the primary. */
const GRACE_MS = 300;
const PAUSE_MS = 100;

/** A promoted primary writes on a new timeline. (The timeline in pg_control_checkpoint is only as recent as the last checkpoint.) */
const ROLE_SQL = `SELECT pg_backend_pid() AS pid, pg_postmaster_start_time()::text AS started, CASE WHEN pg_is_in_recovery() THEN 0
  ELSE ('x' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8))::bit(32)::int END AS timeline`;

/** Callers may see the reason, but not the addresses in a deployment's network, so a socket error is reduced to its code. */
function reasonWithoutAddress(error: unknown): string {
  const code = errorCode(error);
  return code.startsWith("E") ? code : errorMessage(error) || "no answer";
}

export function createPrimaryFinder(urls: readonly string[]) {
  /** The latest timeline so far. A server on an older one is a former primary. */
  let latestTimeline = 1;

  async function readRole(connection: Connection) {
    const [row] = await connection.run(ROLE_SQL);
    const timeline = Number(row?.["timeline"]);
    if (timeline === 0) throw new NoPrimary("it is a standby");
    if (timeline < latestTimeline) throw new NoPrimary("it was the primary before a failover");
    return { timeline, started: String(row?.["started"]), pid: Number(row?.["pid"]) };
  }

  async function queryTimeline(url: string): Promise<number> {
    const connection = createConnection({ url, name: "mic-mcp", timeoutMs: QUERY_TIMEOUT_MS });
    return (await readRole(connection).finally(connection.close)).timeline;
  }

  /** Queries all servers at once. Returns the one on the latest timeline of those that respond in time. */
  async function queryAllServers() {
    const found: { url: string; timeline: number }[] = [];
    const reasons: string[] = [];
    let full: unknown;
    const queries = urls.map(async (url, at) => {
      try {
        found.push({ url, timeline: await queryTimeline(url) });
      } catch (error) {
        if (isTooManyConnections(error)) full = error;
        reasons.push(`number ${at + 1}: ${reasonWithoutAddress(error)}`);
        throw error;
      }
    });
    const first = Promise.any(queries).then(() => sleep(GRACE_MS, undefined, { ref: false }));
    await Promise.race([Promise.allSettled(queries), first.catch(() => Promise.allSettled(queries))]);
    const [best] = found.sort((one, other) => other.timeline - one.timeline);
    latestTimeline = Math.max(latestTimeline, best?.timeline ?? 0);
    return { best: best?.url, reasons, full };
  }

  return {
    /** Returns the URL of the primary. Throws after FIND_TIMEOUT_MS: NoPrimary, unless a server accepts no more connections. */
    async find(): Promise<string> {
      const endsAt = performance.now() + FIND_TIMEOUT_MS;
      for (;;) {
        const { best, reasons, full } = await queryAllServers();
        if (best !== undefined) return best;
        if (performance.now() > endsAt)
          throw full === undefined
            ? new NoPrimary(`no server takes writes (${reasons.join("; ")})`)
            : tooManyConnectionsError(full);
        await sleep(PAUSE_MS);
      }
    },
    /**
     * Returns the start and the timeline of the server behind a connection, and the id of its process there. Throws NoPrimary if it is not
     * the primary.
     */
    async identify(connection: Connection): Promise<{ readonly server: string; readonly pid: number }> {
      const { timeline, started, pid } = await readRole(connection);
      latestTimeline = Math.max(latestTimeline, timeline);
      return { server: `${started}/${timeline}`, pid };
    },
  };
}
