// This module opens the journal when it is first needed, and deletes old rows from then on.
import { setImmediate as yieldToEvents } from "node:timers/promises";
import { memoizeUntilFailure } from "../core/async.ts";
import { type Database, journalFailure, postgresFailure, sqliteFailure } from "../store/database.ts";
import { type Journal, type OpenJournalOptions, openJournal } from "./journal.ts";

export interface JournalOptions extends OpenJournalOptions {
  /** The folder of the SQLite file. */
  readonly stateDir: string;
  /** URL (postgres://…) of a database that contains the journal instead of the SQLite file. */
  readonly url: string | undefined;
  /** A shared database (src/teams/database.ts) that contains the journal. Closing the journal leaves it open. */
  readonly database?: () => Promise<Database>;
  /** Actions that have not changed for this many milliseconds are deleted. */
  readonly retentionMs: number;
}

/** Old rows are deleted when the journal is opened, and then every hour. */
const PRUNE_INTERVAL_MS = 3_600_000;

async function openOwnDatabase({ url, stateDir }: JournalOptions): Promise<Database> {
  if (url === undefined) return await (await import("../store/sqlite.ts")).openSqlite(stateDir, sqliteFailure);
  const { openPostgres } = await import("../store/postgres.ts");
  return await openPostgres(url, { mapError: postgresFailure("MIC_JOURNAL_URL") });
}

export type JournalHandle = ReturnType<typeof createJournalHandle>;

export function createJournalHandle(options: JournalOptions) {
  const journal = memoizeUntilFailure(() => start().catch((error: unknown) => Promise.reject(journalFailure(error))));

  let pruning: Promise<void> | undefined;
  let pruneTimer: NodeJS.Timeout | undefined;
  let isClosed = false;

  /** Deletes old rows in batches, with other work in between. After an error, the next attempt is an hour later. */
  async function prune(journal: Journal): Promise<void> {
    try {
      while (!isClosed && (await journal.prune(options.retentionMs))) await yieldToEvents();
    } catch {}
  }

  async function start(): Promise<Journal> {
    const database = await (options.database?.() ?? openOwnDatabase(options));
    try {
      const journal = await openJournal(database, options);
      // The first batch is deleted immediately: if that fails, no action can be recorded either.
      const hasMore = await journal.prune(options.retentionMs);
      if (hasMore) pruning = yieldToEvents().then(() => prune(journal));
      pruneTimer = setInterval(() => {
        pruning = prune(journal);
      }, PRUNE_INTERVAL_MS).unref();
      return journal;
    } catch (error) {
      if (!options.database) await database.close().catch(() => undefined);
      throw error;
    }
  }

  return {
    /** Opens the journal on the first call, and returns the same one from then on. Throws Failure; the next call tries again. */
    open: journal.get,
    async close(): Promise<void> {
      isClosed = true;
      clearInterval(pruneTimer);
      const openedJournal = await journal.ifStarted()?.catch(() => undefined);
      await pruning;
      if (!options.database) await openedJournal?.close();
    },
  };
}
