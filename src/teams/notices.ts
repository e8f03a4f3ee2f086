// Receives notices from the instances of a deployment through PostgreSQL's LISTEN and NOTIFY. It listens on a separate connection directly to
// the primary, because LISTEN does not work through a pooler in transaction mode. Notices may be lost; the tables are the source of truth.
import { setTimeout as sleep } from "node:timers/promises";
import { type Connection, createConnection, createPrimaryFinder } from "../actions/store/connection.ts";
import { withTimeoutFallback } from "../core/async.ts";

const RESPONSE_TIMEOUT_MS = 5_000;
/** A connection that is dead without an error is detected after this time. */
const PING_MS = 10_000;
const PAUSE_MS = 250;
const CLOSE_MS = 1_000;

interface NoticesOptions {
  /** URLs of one database on the primary and its replicas, in any order. */
  readonly urls: readonly string[];
  /** The name of the channel becomes part of SQL statements. */
  readonly channel: string;
  readonly onNotice: (text: string) => void;
  /** Called after the connection was lost, because some notices may not have arrived. */
  readonly onMissed: () => void;
  /** Receives the reason if the connection cannot be made. */
  readonly onError: (error: unknown) => void;
}

/**
 * Receives the notices of all instances, including this one, from now on. The statement that changes a table sends the notice (pg_notify), so
 * it is sent if and only if the change is committed. A notice may arrive twice.
 */
export function listenForNotices({ urls, channel, onNotice, onMissed, onError }: NoticesOptions) {
  const primary = createPrimaryFinder(urls);
  const closing = new AbortController();
  let current: Promise<Connection> | undefined;
  const pause = (ms: number, signal = closing.signal): Promise<unknown> =>
    sleep(ms, undefined, { signal, ref: false }).catch(() => undefined);

  async function connect(lost: AbortController): Promise<Connection> {
    const connection = createConnection({
      url: await primary.find(),
      name: "mic-mcp notices",
      timeoutMs: RESPONSE_TIMEOUT_MS,
      onLost: () => lost.abort(),
      onNotice: (_channel, text) => onNotice(text),
    });
    try {
      await connection.run(`LISTEN ${channel}`);
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
        if (!isFirst) onMissed();
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

  const connectionLoop = keepConnected();

  return {
    /** Resolves when this instance listens: notices that are sent later arrive. */
    async waitUntilListening(): Promise<void> {
      while (!closing.signal.aborted) {
        const isListening = current?.then(() => true);
        if (await isListening?.catch(() => false)) return;
        await pause(PAUSE_MS);
      }
    },
    async close(): Promise<void> {
      closing.abort();
      // The loop may be searching for the primary, which can take several seconds.
      await withTimeoutFallback(connectionLoop, undefined, CLOSE_MS);
    },
  };
}
