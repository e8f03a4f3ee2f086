// Sends notices between the instances of a deployment with PostgreSQL's LISTEN and NOTIFY. It listens on a separate connection directly to
// the primary, because LISTEN does not work through a pooler in transaction mode. Notices may be lost; the tables are the source of truth.
import { setTimeout as sleep } from "node:timers/promises";
import { type Connection, createConnection } from "../actions/store/connection.ts";
import type { Database } from "../actions/store/database.ts";
import { createPrimaryFinder } from "../actions/store/primary.ts";
import { withTimeoutFallback } from "../core/async.ts";

/** PostgreSQL accepts fewer than 8,000 bytes. Store longer data in a row, and send its id. */
export const MAX_NOTICE_BYTES = 7_000;

const RESPONSE_TIMEOUT_MS = 5_000;
/** A connection that is dead without an error is detected after this time. */
const PING_MS = 10_000;
const PAUSE_MS = 250;
const CLOSE_MS = 1_000;

export class NoticeTooLong extends RangeError {
  override readonly name = "NoticeTooLong";
}

/** Each notice is sent to all instances, including this one. */
export interface Notices {
  /** Throws NoticeTooLong beyond MAX_NOTICE_BYTES, and the errors of the database. A notice may arrive twice. */
  send(channel: string, text: string): Promise<void>;
  /**
   * Calls `receive` with each notice that is sent from now on; call the returned function to stop. `onMissed`: called after the connection
   * was lost, because some notices may not have arrived.
   */
  on(channel: string, receive: (text: string) => void, onMissed?: () => void): () => void;
  /** Resolves when this instance listens: notices that are sent later arrive. */
  waitUntilListening(): Promise<void>;
  close(): Promise<void>;
}

export interface NoticesOptions {
  /** URLs of one database on the primary and its replicas, in any order. */
  readonly urls: readonly string[];
  /** Runs the statement that sends a notice. */
  readonly query: Database["query"];
  /** Receives the reason if the connection cannot be made. */
  readonly onError: (error: unknown) => void;
}

interface Listener {
  readonly receive: (text: string) => void;
  readonly onMissed: () => void;
}

/** Throws TypeError unless the name is a plain identifier, because it becomes part of an SQL statement. */
function checkChannel(channel: string): string {
  if (!/^[a-z_]{1,60}$/.test(channel)) throw new TypeError(`not the name of a channel: ${channel}`);
  return channel;
}

export function createNotices({ urls, query, onError }: NoticesOptions): Notices {
  const primary = createPrimaryFinder(urls);
  const channels = new Map<string, Set<Listener>>();
  const closing = new AbortController();
  /** The connection that listens to every channel. */
  let current: Promise<Connection> | undefined;
  let connectionLoop: Promise<void> | undefined;
  const pause = (ms: number, signal = closing.signal): Promise<unknown> =>
    sleep(ms, undefined, { signal, ref: false }).catch(() => undefined);

  async function connect(lost: AbortController): Promise<Connection> {
    const connection = createConnection({
      url: await primary.find(),
      name: "mic-mcp notices",
      timeoutMs: RESPONSE_TIMEOUT_MS,
      onLost: () => lost.abort(),
      onNotice(channel, text) {
        for (const { receive } of [...(channels.get(channel) ?? [])]) receive(text);
      },
    });
    try {
      await connection.run("SELECT 1");
      for (const channel of channels.keys()) await connection.run(`LISTEN ${channel}`);
      return connection;
    } catch (error) {
      connection.close();
      throw error;
    }
  }

  async function keepConnected(): Promise<void> {
    for (let isFirst = true; !closing.signal.aborted; await pause(PAUSE_MS)) {
      const lost = new AbortController();
      const signal = AbortSignal.any([lost.signal, closing.signal]);
      current = connect(lost);
      try {
        const connection = await current;
        if (!isFirst) for (const { onMissed } of [...channels.values()].flatMap((all) => [...all])) onMissed();
        isFirst = false;
        while (!signal.aborted) {
          await pause(PING_MS, signal);
          if (!signal.aborted) await connection.run("SELECT 1").catch(() => lost.abort());
        }
        connection.close();
      } catch (error) {
        onError(error);
      }
    }
  }

  return {
    async send(channel, text) {
      const bytes = Buffer.byteLength(text);
      if (bytes > MAX_NOTICE_BYTES)
        throw new NoticeTooLong(`a notice of ${bytes} bytes exceeds the maximum of ${MAX_NOTICE_BYTES} bytes`);
      await query("SELECT pg_notify($1, $2)", [checkChannel(channel), text]);
    },
    on(channel, receive, onMissed = () => undefined) {
      const listener = { receive, onMissed };
      const listeners = channels.get(checkChannel(channel)) ?? new Set();
      channels.set(channel, listeners.add(listener));
      // If this fails, the connection is lost, and the next connection listens to every channel.
      if (listeners.size === 1) current?.then(({ run }) => run(`LISTEN ${channel}`)).catch(() => undefined);
      connectionLoop ??= keepConnected();
      return () => void listeners.delete(listener);
    },
    async waitUntilListening() {
      while (!closing.signal.aborted) {
        // This statement runs after every LISTEN that was sent before.
        const answered = current?.then(({ run }) => run("SELECT 1")).then(() => true);
        if (await answered?.catch(() => false)) return;
        await pause(PAUSE_MS);
      }
    },
    async close() {
      closing.abort();
      // The loop may be searching for the primary, which can take several seconds.
      if (connectionLoop) await withTimeoutFallback(connectionLoop, undefined, CLOSE_MS);
    },
  };
}
