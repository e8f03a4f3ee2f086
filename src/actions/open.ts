// Opening the journal on first need, and saying what to do when it cannot be used: then no action is sent, and reads go on.
import { Failure, reasonOf } from "../failure.ts";
import type { Database } from "./database.ts";
import { type Journal, openJournal } from "./journal.ts";
import { LEASE_MS } from "./leases.ts";
import { NewerJournal } from "./migrations.ts";

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
  /** This process, as src/actions/owner.ts names it. */
  readonly owner: string;
}

function advice(error: unknown, reason: string): string {
  if (error instanceof NewerJournal) return "Use that later mic-mcp, or another MIC_STATE_DIR.";
  if (/full|ENOSPC|EDQUOT|disk I\/O/i.test(reason)) return "Free space on the disk of the state folder and call again.";
  if (/not a database|malformed|corrupt/i.test(reason))
    return "Move the damaged journal file away (keep it: it may hold unsettled actions) and start mic-mcp again.";
  if (/locked|busy/i.test(reason)) return "Another process holds the journal: call again in a few seconds.";
  if (/connect|ECONN|ENOTFOUND|terminat|password|authentication/i.test(reason))
    return "Check MIC_JOURNAL_URL and its server.";
  return "Make the state folder writable, or set MIC_STATE_DIR to one that is; mic-mcp doctor says which it is.";
}

/** The journal failed before anything was sent. */
export function journalFailure(error: unknown): Failure {
  const reason = reasonOf(error) || "it does not answer";
  return new Failure(
    {
      kind: "internal",
      message: `The action journal cannot be used, and without it no action is sent: ${reason}.`,
      retryable: true,
      sideEffect: "none",
      next: advice(error, reason),
    },
    { cause: error },
  );
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
    const database = await openDatabase(options);
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
