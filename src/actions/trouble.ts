// A journal that cannot be used: no action is sent, reads go on, and what is said is no more than can be known without it.
import { errorCode, Failure, type FailureFacts, reasonOf } from "../failure.ts";
import type { Database } from "./database.ts";
import { DevelopmentJournal, NewerJournal, OlderJournal } from "./schema.ts";

/** The journal cannot be used: what a call that reads it fails with. */
export class JournalFailure extends Failure {
  /** `advice`: what a person can do about it. */
  constructor(error: unknown, reason: string, advice: string) {
    super(
      {
        kind: "internal",
        message: `The action journal cannot be used, and without it no action is sent: ${reason}.`,
        retryable: true,
        sideEffect: "none",
        next: advice,
      },
      { cause: error },
    );
  }
}

// A host of several addresses fails with an error for each, and no word of its own.
const describe = (error: unknown): string =>
  error instanceof AggregateError ? error.errors.map(describe).join("; ") : reasonOf(error) || "it does not answer";

function adviceOn(error: unknown): string {
  if (error instanceof NewerJournal)
    return "Ask the user to run the latest mic-mcp, or set another MIC_STATE_DIR or MIC_JOURNAL_URL.";
  if (error instanceof OlderJournal) return "Ask the user to run mic-mcp migrate, or start without MIC_MIGRATE=off.";
  if (error instanceof DevelopmentJournal)
    return "Ask the user to stop mic-mcp and move the journal away: actions.sqlite with its -wal and -shm files in the state folder (mic-mcp status shows the folder), or, on PostgreSQL, the tables actions, audit and journal_version. The next start creates a new one; actions that are unresolved in the old one have to be checked by hand.";
  return "Ask the user to run mic-mcp doctor, which may show more.";
}

/** Whatever was thrown where only the journal can fail. */
export function journalFailure(error: unknown): JournalFailure {
  if (error instanceof JournalFailure) return error;
  return new JournalFailure(error, describe(error), adviceOn(error));
}

/** No way to this is known. */
export const refusedForNone = (): JournalFailure =>
  journalFailure(new Error("it refuses a new action because it has it already, and returns none"));

/** Of the package that has SQLite for a node without, or of its binary. */
const NO_ENGINE =
  /cannot find (?:module|package)|no native build|could not locate the bindings|ERR_DLOPEN|invalid ELF/i;

function sqliteFailure(error: unknown): JournalFailure {
  const reason = describe(error);
  if (NO_ENGINE.test(`${errorCode(error)} ${reason}`))
    return new JournalFailure(
      error,
      `node ${process.versions.node} has no SQLite inside, and the package @photostructure/sqlite is not installed for it`,
      "Ask the user to run Node 22.16 or newer, or install mic-mcp again with its optional packages (npm install --include=optional).",
    );
  const advice = (): string => {
    if (/full|ENOSPC|EDQUOT|disk I\/O/i.test(reason))
      return "Ask the user to free space on the disk of the state folder, then call again.";
    if (/not a database|malformed|corrupt/i.test(reason))
      return "Ask the user to move the damaged journal file away (and keep it: it may contain unresolved actions) and start mic-mcp again.";
    if (/locked|busy/i.test(reason)) return "Another process holds the journal: call again in a few seconds.";
    return "Ask the user to make the state folder writable, or set MIC_STATE_DIR to one that is; mic-mcp doctor shows which folder it is.";
  };
  return new JournalFailure(error, reason, advice());
}

function postgresFailure(error: unknown, variable: string): JournalFailure {
  const reason = describe(error);
  const advice = /No space left|disk full|could not extend/i.test(reason)
    ? `Ask the user to free space on the disk of the PostgreSQL server that ${variable} names, then call again.`
    : `Ask the user to check ${variable} and its PostgreSQL server, then call again.`;
  return new JournalFailure(error, `PostgreSQL: ${reason}`, advice);
}

/** The same database, whose faults say what to do about them wherever they come up. `variable`: what names a PostgreSQL. */
export async function explainFaults(
  opening: Promise<Database>,
  engine: "SQLite" | "PostgreSQL",
  variable = "MIC_JOURNAL_URL",
): Promise<Database> {
  const fails = (error: unknown): never => {
    if (error instanceof JournalFailure) throw error;
    throw engine === "SQLite" ? sqliteFailure(error) : postgresFailure(error, variable);
  };
  const database = await opening.catch(fails);
  return {
    query: (sql, values) => database.query(sql, values).catch(fails),
    exclusively: (work, lock) => database.exclusively(work, lock).catch(fails),
    clock: database.clock,
    close: () => database.close(),
  };
}

/** Of an action that the journal may hold; `key` is the one that its call gave. */
export function outcomeUnreadable(error: unknown, key: string | undefined): Failure {
  const failure = journalFailure(error);
  const unknown =
    "This call sent nothing; without the journal it is unknown whether an earlier identical call took effect.";
  const facts: Partial<FailureFacts> = { message: `${failure.message} ${unknown}`, sideEffect: "unknown" };
  return failure.with(key === undefined ? facts : { ...facts, idempotencyKey: key });
}

/** Of an action that could not be written: if the journal can be read, and does not hold it, it was never sent. */
export async function rethrowUnlessWritten(error: unknown, look: () => Promise<unknown>): Promise<never> {
  const isAbsent = await look().then(
    (found) => found === undefined,
    () => false,
  );
  throw isAbsent ? new Failure(journalFailure(error).facts, { cause: error }) : error;
}
