// Opening the journal on first need.
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
  let opening: Promise<Journal> | undefined;

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
    open() {
      opening ??= start().catch((error: unknown) => {
        opening = undefined;
        throw journalFailure(error);
      });
      return opening;
    },
    async close() {
      const journal = await opening?.catch(() => undefined);
      await journal?.close();
    },
  };
}
