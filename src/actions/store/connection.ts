// One connection to PostgreSQL. `postgres` speaks the protocol; how often to connect, to which server and for how long is decided here and
// in postgres.ts, because with several hosts it looks for a primary without end, and it knows no time limit for a statement.
import { readFileSync } from "node:fs";
import { connect, type Socket } from "node:net";
import type { ConnectionOptions as TlsOptions } from "node:tls";
import postgres from "postgres";
import { errorCode, errorMessage } from "../../core/failure.ts";
import type { DatabaseRow, SqlValue } from "./database.ts";

/** Values are sent as they are: by itself the driver would write a text of JSON as a string of JSON, and "true" as false. */
const createType = (oid: number, from: number[], parse: (text: string) => unknown) => ({
  to: oid,
  from,
  parse,
  serialize: String,
});
const TYPES = {
  boolean: createType(16, [16], (text) => text === "t"),
  // Times in milliseconds fit a number.
  bigint: createType(20, [20], Number),
  json: createType(114, [114, 3802], JSON.parse),
};

/** The server is a standby, or was the primary before a failover. */
export class NoPrimary extends Error {
  override readonly name = "NoPrimary";
}

/** Shut down, crashed, starting; refuses writes, because it is a standby (by now). */
const SERVER_UNAVAILABLE = new Set(["57P01", "57P02", "57P03", "25006"]);
/** Class 08, and errors of sockets: the connection itself. */
const CONNECTION_ERROR = /^(?:08|ECONNREFUSED|ECONNRESET|EPIPE|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|ENOTFOUND|EAI_AGAIN)/;
const OWN_ERROR = /^(?:Connection terminated|Query read timeout|timeout expired)/;

/** Neither this connection nor another one to the same server can be used any more. */
export function isBroken(error: unknown): boolean {
  if (error instanceof NoPrimary) return true;
  if (error instanceof AggregateError) return error.errors.some(isBroken);
  const code = errorCode(error);
  return SERVER_UNAVAILABLE.has(code) || CONNECTION_ERROR.test(code) || OWN_ERROR.test(errorMessage(error));
}

/** The statement was refused before it did anything. */
export const isStatementRefused = (error: unknown): boolean => ["25006", "57P03"].includes(errorCode(error));

/** The server accepts no more connections now. */
export const isTooManyConnections = (error: unknown): boolean => errorCode(error) === "53300";

const connectionTerminatedError = (): Error => new Error("Connection terminated unexpectedly");

export interface ConnectionOptions {
  readonly url: string;
  /** application_name. */
  readonly name: string;
  /** Of connecting and of each statement. */
  readonly timeoutMs: number;
  /** The connection has ended, and not by close(). */
  readonly onLost?: () => void;
  readonly onNotice?: (channel: string, text: string) => void;
}

/** Opened by its first statement, and never again. */
export interface Connection {
  /** Throws the server's errors and the socket's. After an error the state of the connection is unknown: close it. */
  run(sql: string, values?: readonly SqlValue[], timeoutMs?: number): Promise<readonly DatabaseRow[]>;
  /** An idle connection keeps no process alive. */
  setIdle(isIdle: boolean): void;
  /** Never waits: a server may be stuck. */
  close(): void;
}

const TLS_FILES = { sslrootcert: "ca", sslcert: "cert", sslkey: "key" };

/** Takes the TLS parameters out of a URL. A mode that encrypts verifies the certificate, except `no-verify`. */
function extractTlsOptions({ searchParams }: URL): TlsOptions | false {
  const mode = searchParams.get("sslmode") ?? searchParams.get("ssl") ?? process.env["PGSSLMODE"];
  const files = Object.entries(TLS_FILES).flatMap(([name, option]) => {
    const path = searchParams.get(name);
    return path === null ? [] : [[option, readFileSync(path)]];
  });
  for (const name of ["sslmode", "ssl", ...Object.keys(TLS_FILES)]) searchParams.delete(name);
  const isPlain = mode === undefined || mode === "allow" ? files.length === 0 : /^(?:disable|0|false)$/.test(mode);
  return isPlain ? false : { rejectUnauthorized: mode !== "no-verify", ...Object.fromEntries(files) };
}

interface SocketAddress {
  readonly host: readonly string[];
  readonly port: readonly number[];
  /** Of a Unix socket. */
  readonly path: string | false;
}

export function createConnection({ url, name, timeoutMs, onLost, onNotice }: ConnectionOptions): Connection {
  const target = new URL(url);
  const ssl = extractTlsOptions(target);
  let isClosed = false;
  let socket: Socket | undefined;
  const options = {
    ssl,
    max: 1,
    // Types of arrays, which no statement has.
    fetch_types: false,
    connect_timeout: 0,
    idle_timeout: 0,
    max_lifetime: 0,
    connection: { application_name: name },
    types: TYPES,
    onnotice: () => undefined,
    onnotify: onNotice,
    onclose() {
      if (!isClosed) onLost?.();
      isClosed = true;
    },
    // Documented, but not in its types. Another socket would be another connection, without what was set on the first.
    socket({ host: [defaultHost = ""], port: [port = 0], path }: SocketAddress) {
      if (socket || isClosed) throw connectionTerminatedError();
      const [, host = defaultHost] = /^\[(.*)\]$/.exec(target.hostname) ?? [];
      // TLS verifies the certificate for the host.
      socket = Object.assign(path ? connect(path) : connect(port, host), { host });
      return socket;
    },
  };
  const sql = postgres(target.href, options);

  async function send(text: string, values: readonly SqlValue[]): Promise<readonly DatabaseRow[]> {
    try {
      return Array.from(await sql.unsafe<DatabaseRow[]>(text, [...values], { prepare: values.length > 0 }));
    } catch (error) {
      // Its own errors name the address, which callers of a deployment must not read.
      throw errorCode(error).startsWith("CONNECTION_") ? connectionTerminatedError() : error;
    }
  }

  return {
    async run(text, values = [], statementTimeoutMs = timeoutMs) {
      let timer: NodeJS.Timeout | undefined;
      const timeout = new Promise<never>((_, reject) => {
        const fail = () => reject(new Error(socket?.connecting === false ? "Query read timeout" : "timeout expired"));
        timer = setTimeout(fail, statementTimeoutMs);
      });
      try {
        return await Promise.race([send(text, values), timeout]);
      } finally {
        clearTimeout(timer);
      }
    },
    setIdle: (isIdle) => void (isIdle ? socket?.unref() : socket?.ref()),
    close() {
      isClosed = true;
      void sql
        .end({ timeout: 0 })
        .catch(() => undefined)
        .finally(() => socket?.destroySoon());
    },
  };
}
