// Receives notices from the instances of a deployment through PostgreSQL's LISTEN and NOTIFY. It listens on a separate connection directly to
// the primary, because LISTEN does not work through a pooler in transaction mode. Notices may be lost; the tables are the source of truth.
import { setTimeout as sleep } from "node:timers/promises";
import { type Connection, createConnection } from "../actions/store/connection.ts";
import { createPrimaryFinder } from "../actions/store/primary.ts";
import { withTimeoutFallback } from "../core/async.ts";

const RESPONSE_TIMEOUT_MS = 5_000;
/** A connection that is dead without an error is detected after this time. */
const PING_MS = 10_000;
const PAUSE_MS = 250;
const CLOSE_MS = 1_000;

export type Notices = ReturnType<typeof createNotices>;

export interface NoticesOptions {
  /** URLs of one database on the primary and its replicas, in any order. */
  readonly urls: readonly string[];
  /** Receives the reason if the connection cannot be made. */
  readonly onError: (error: unknown) => void;
}

interface Listener {
  readonly receive: (text: string) => void;
  readonly onMissed: () => void;
}

/**
 * Receives the notices of all instances, including this one. The statement that changes a table sends the notice (pg_notify), so it is sent
 * if and only if the change is committed. A notice may arrive twice.
 */
export function createNotices({ urls, onError }: NoticesOptions) {
  const primary = createPrimaryFinder(urls);
  /** The names of channels become part of SQL statements. */
  const channels = new Map<string, Listener>();
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
      onNotice: (channel, text) => channels.get(channel)?.receive(text),
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
        if (!isFirst) for (const { onMissed } of channels.values()) onMissed();
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
    /**
     * Calls `receive` with each notice on this channel from now on. `onMissed`: called after the connection was lost, because some notices
     * may not have arrived. A channel has one listener.
     */
    on(channel: string, receive: Listener["receive"], onMissed: Listener["onMissed"] = () => undefined): void {
      channels.set(channel, { receive, onMissed });
      // If this fails, the connection is lost, and the next connection listens to every channel.
      current?.then(({ run }) => run(`LISTEN ${channel}`)).catch(() => undefined);
      connectionLoop ??= keepConnected();
    },
    /** Resolves when this instance listens: notices that are sent later arrive. */
    async waitUntilListening(): Promise<void> {
      while (!closing.signal.aborted) {
        // This statement runs after every LISTEN that was sent before.
        const answered = current?.then(({ run }) => run("SELECT 1")).then(() => true);
        if (await answered?.catch(() => false)) return;
        await pause(PAUSE_MS);
      }
    },
    async close(): Promise<void> {
      closing.abort();
      // The loop may be searching for the primary, which can take several seconds.
      if (connectionLoop) await withTimeoutFallback(connectionLoop, undefined, CLOSE_MS);
    },
  };
}
