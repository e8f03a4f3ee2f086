// What instances of a deployment tell each other, by PostgreSQL's LISTEN and NOTIFY: on a connection of its own, straight to the primary (a
// pooler in transaction mode would lose it). A notice is a hint: what matters stands in a table.
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { soonOr } from "../async.ts";
import type { Database } from "./database.ts";
import { createPrimary } from "./primary.ts";

/** PostgreSQL takes 8,000. Whoever has more writes a row, and tells where it is. */
export const MAX_NOTICE_BYTES = 7_000;

const CONNECT_MS = 5_000;
/** A connection that is dead, and does not say so, is noticed after so long. */
const PING_MS = 10_000;
const PAUSE_MS = 250;
const CLOSE_MS = 1_000;

export class NoticeTooLong extends RangeError {
  override readonly name = "NoticeTooLong";
}

/** Tells all instances, this one included. */
export interface Notices {
  /** Throws NoticeTooLong beyond MAX_NOTICE_BYTES, and what the database throws. It may be heard twice. */
  send(channel: string, text: string): Promise<void>;
  /**
   * Hears what is sent from now on; call the returned function to hear no more. `missed`: the connection was lost, and some may not have been
   * heard.
   */
  on(channel: string, hear: (text: string) => void, missed?: () => void): () => void;
  /** Resolves when what is sent from then on is heard. */
  listening(): Promise<void>;
  close(): Promise<void>;
}

export interface NoticesOptions {
  /** Of one database on all its servers. */
  readonly urls: readonly string[];
  /** Sends. */
  readonly query: Database["query"];
  /** Hears why there is no connection. */
  readonly onTrouble: (error: unknown) => void;
}

interface Listener {
  readonly hear: (text: string) => void;
  readonly missed: () => void;
}

/** An identifier, so that no text of anybody becomes SQL. */
function checked(channel: string): string {
  if (!/^[a-z_]{1,60}$/.test(channel)) throw new TypeError(`no name of a channel: ${channel}`);
  return channel;
}

export function createNotices({ urls, query, onTrouble }: NoticesOptions): Notices {
  const primary = createPrimary(urls);
  const channels = new Map<string, Set<Listener>>();
  const closing = new AbortController();
  /** Connected, and listening to what it was asked for. */
  let current: Promise<pg.Client> | undefined;
  let following: Promise<void> | undefined;
  let hasListened = false;
  /** One question after the other: a client takes no second one meanwhile. */
  let line: Promise<unknown> = Promise.resolve();
  function inLine<T>(ask: () => Promise<T>): Promise<T> {
    const asked = line.then(ask);
    line = asked.catch(() => undefined);
    return asked;
  }

  async function connect(): Promise<pg.Client> {
    const client = new pg.Client({
      connectionString: await primary.find(),
      connectionTimeoutMillis: CONNECT_MS,
      query_timeout: CONNECT_MS,
      application_name: "mic-mcp notices",
      keepAlive: true,
    });
    client.on("error", () => undefined);
    client.on("notification", ({ channel, payload = "" }) => {
      for (const { hear } of [...(channels.get(channel) ?? [])]) hear(payload);
    });
    await client.connect();
    for (const channel of channels.keys()) await client.query(`LISTEN ${channel}`);
    return client;
  }

  /** Resolves when the connection is of no use any more. */
  async function lost(client: pg.Client): Promise<void> {
    const end = new AbortController();
    client.once("end", () => end.abort());
    const signal = AbortSignal.any([end.signal, closing.signal]);
    while (!signal.aborted) {
      await sleep(PING_MS, undefined, { signal, ref: false }).catch(() => undefined);
      if (!signal.aborted) await inLine(() => client.query("SELECT 1")).catch(() => end.abort());
    }
    void client.end().catch(() => undefined);
  }

  async function follow(): Promise<void> {
    while (!closing.signal.aborted) {
      current = connect();
      try {
        const client = await current;
        if (hasListened) for (const { missed } of [...channels.values()].flatMap((all) => [...all])) missed();
        hasListened = true;
        await lost(client);
      } catch (error) {
        onTrouble(error);
      }
      await sleep(PAUSE_MS, undefined, { signal: closing.signal, ref: false }).catch(() => undefined);
    }
  }

  function listenTo(channel: string): void {
    // Where that fails the connection has gone, and the next one listens.
    current?.then((client) => inLine(() => client.query(`LISTEN ${channel}`))).catch(() => undefined);
  }

  return {
    async send(channel, text) {
      const bytes = Buffer.byteLength(text);
      if (bytes > MAX_NOTICE_BYTES) throw new NoticeTooLong(`${bytes} bytes, and ${MAX_NOTICE_BYTES} are the most`);
      await query("SELECT pg_notify($1, $2)", [checked(channel), text]);
    },
    on(channel, hear, missed = () => undefined) {
      const listener = { hear, missed };
      const listeners = channels.get(checked(channel)) ?? new Set();
      channels.set(channel, listeners.add(listener));
      if (listeners.size === 1) listenTo(channel);
      following ??= follow();
      return () => void listeners.delete(listener);
    },
    async listening() {
      for (;;) {
        const client = await current?.catch(() => undefined);
        // Behind every LISTEN that was asked for so far.
        const isThere =
          client &&
          (await inLine(() => client.query("SELECT 1")).then(
            () => true,
            () => false,
          ));
        if (isThere || closing.signal.aborted) return;
        await sleep(PAUSE_MS);
      }
    },
    async close() {
      closing.abort();
      // The primary may be looked for just now, in vain.
      if (following) await soonOr(following, undefined, CLOSE_MS);
    },
  };
}
