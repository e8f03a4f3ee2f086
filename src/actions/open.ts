// Opening the journal on first need.
import { onceUntilFailure } from "../async.ts";
import type { Database } from "./database.ts";
import { type Journal, openJournal } from "./journal.ts";
import { LEASE_MS } from "./leases.ts";
import { explainFaults, journalFailure } from "./trouble.ts";

export interface JournalOptions {
  /** The folder of the SQLite file. */
  readonly stateDir: string;
  /** postgres://…: the journal lives there instead. */
  readonly url: string | undefined;
  /** Settled actions older than this are forgotten. */
  readonly retentionMs: number;
  /** MIC_REPEAT_WINDOW_SECONDS. */
  readonly repeatMs: number;
  readonly now: () => number;
  /** This process, as src/owner.ts names it. */
  readonly owner: string;
}

async function openDatabase({ url, stateDir }: JournalOptions): Promise<Database> {
  if (url === undefined) return await (await import("./sqlite.ts")).openSqlite(stateDir);
  return await (await import("./postgres.ts")).openPostgres(url);
}

export interface JournalHandle {
  /** The one journal of this process. Throws Failure; the next call tries again. */
  open(): Promise<Journal>;
  close(): Promise<void>;
}

export function createJournal(options: JournalOptions): JournalHandle {
  const journal = onceUntilFailure(() => start().catch((error: unknown) => Promise.reject(journalFailure(error))));

  async function start(): Promise<Journal> {
    const database = await explainFaults(openDatabase(options), options.url === undefined ? "SQLite" : "PostgreSQL");
    try {
      const journal = await openJournal(database, { ...options, leaseMs: LEASE_MS });
      await journal.prune(options.now() - options.retentionMs);
      return journal;
    } catch (error) {
      await database.close().catch(() => undefined);
      throw error;
    }
  }

  return {
    open: journal.get,
    async close() {
      const open = await journal.ifStarted()?.catch(() => undefined);
      await open?.close();
    },
  };
}
