// Opening the journal on first need.
import { memoizeUntilFailure } from "../core/async.ts";
import { type Journal, openJournal } from "./journal.ts";
import { type Database, journalFailure, postgresFailure, sqliteFailure } from "./store/database.ts";

export interface JournalOptions {
  /** The folder of the SQLite file. */
  readonly stateDir: string;
  /** postgres://…: the journal lives there instead. */
  readonly url: string | undefined;
  /** A database that is not the journal's alone (src/teams/database.ts): it lives there, and leaves it open. */
  readonly database?: () => Promise<Database>;
  /** False: the tables are not brought forward here (MIC_MIGRATE=off). */
  readonly migrates?: boolean;
  /** Actions that have not changed for so many milliseconds are deleted. */
  readonly retentionMs: number;
  /** Rows of the audit, where there is one. */
  readonly auditRetentionMs?: number;
  readonly now: () => number;
  /** This process, as src/core/owner.ts names it. */
  readonly owner: string;
}

/** Old rows are deleted when the journal is opened, and every hour from then on. */
const PRUNE_INTERVAL_MS = 3_600_000;

async function openOwnDatabase({ url, stateDir }: JournalOptions): Promise<Database> {
  if (url === undefined) return await (await import("./store/sqlite.ts")).openSqlite(stateDir, sqliteFailure);
  const { openPostgres } = await import("./store/postgres.ts");
  return await openPostgres(url, { mapError: postgresFailure("MIC_JOURNAL_URL") });
}

export interface JournalHandle {
  /** The one journal of this process. Throws Failure; the next call tries again. */
  open(): Promise<Journal>;
  close(): Promise<void>;
}

export function createJournalHandle(options: JournalOptions): JournalHandle {
  const journal = memoizeUntilFailure(() => start().catch((error: unknown) => Promise.reject(journalFailure(error))));

  let pruning: Promise<void> | undefined;
  let pruneTimer: NodeJS.Timeout | undefined;
  let isClosed = false;

  /** One batch after the other; what cannot be deleted now is deleted in an hour. */
  async function prune(journal: Journal): Promise<void> {
    const { retentionMs, auditRetentionMs } = options;
    try {
      while (!isClosed && (await journal.prune(retentionMs)));
      while (auditRetentionMs !== undefined && !isClosed && (await journal.pruneAudit(auditRetentionMs)));
    } catch {}
  }

  async function start(): Promise<Journal> {
    const database = await (options.database?.() ?? openOwnDatabase(options));
    try {
      const journal = await openJournal(database, options);
      // The first batch at once: if it fails, no action can be recorded either.
      const hasMore = await journal.prune(options.retentionMs);
      if (hasMore || options.auditRetentionMs !== undefined) pruning = prune(journal);
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
    open: journal.get,
    async close() {
      isClosed = true;
      clearInterval(pruneTimer);
      const openedJournal = await journal.ifStarted()?.catch(() => undefined);
      await pruning;
      if (!options.database) await openedJournal?.close();
    },
  };
}
