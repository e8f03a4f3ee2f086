// This module defines the database that processes share, and the failures of an unusable one. The same SQL, with parameters $1, $2 …,
// runs on each engine.
import { errorCode, errorMessage, Failure } from "../core/failure.ts";
import { ask, raw, say, type Text } from "../core/text.ts";

export type SqlValue = string | number | null;
export type DatabaseRow = Readonly<Record<string, unknown>>;

export interface Database {
  /** A write is on disk when this resolves. Throws what `mapError` returns; `isResponseLost` recognizes a write that may have run. */
  query(sql: string, values?: readonly SqlValue[]): Promise<readonly DatabaseRow[]>;
  /** Runs `work` in a transaction, while no other process runs one with the same lock (default: the journal's lock). */
  withExclusiveTransaction(work: (query: Database["query"]) => Promise<void>, lock?: string): Promise<void>;
  /** SQL for the current time by the database's own clock, in milliseconds since 1970; absent if all its users share one clock. */
  readonly clock?: string;
  close(): Promise<void>;
}

/** The clock of PostgreSQL: the time when it received the statement. */
export const POSTGRES_CLOCK = "CAST(EXTRACT(EPOCH FROM statement_timestamp()) * 1000 AS BIGINT)";

/** Whether the statement only reads. */
export const isSelect = (sql: string): boolean => /^\s*SELECT/i.test(sql);

/** Converts an engine's error into the error that is thrown. */
export type MapError = (error: unknown) => unknown;

/** The connection broke during a statement, which may have been executed or may still be executed. */
export class ResponseLost extends Error {
  override readonly name = "ResponseLost";
}

// Compares names, because each engine is a separate file in dist/ with its own copy of the class.
const isResponseLostInstance = (error: unknown): boolean => error instanceof Error && error.name === "ResponseLost";

/** True for a ResponseLost, and for an error that has one as its cause. */
export const isResponseLost = (error: unknown): boolean =>
  isResponseLostInstance(error) || (error instanceof Error && isResponseLostInstance(error.cause));

/** The tables cannot be used as they are. `advice`: the next step for the user. */
export class UnusableTables extends Error {
  readonly advice: Text;
  constructor(message: string, advice: Text) {
    super(message);
    this.advice = advice;
  }
}

/** The journal cannot be used, so no action is sent. Reads still work. */
export class JournalFailure extends Failure {
  /** `reason`: a clause for the message. `advice`: the next step for the user. */
  constructor(error: unknown, reason: Text, advice: Text, retryAfterSeconds?: number) {
    super(
      {
        kind: "unavailable",
        message: say`The action journal cannot be used, and without it no action is sent: ${reason}.`,
        retryable: true,
        sideEffect: "none",
        ...(retryAfterSeconds !== undefined && { retryAfterSeconds }),
        next: advice,
      },
      { cause: error },
    );
  }
}

// A host with several addresses fails with an AggregateError, which has one error for each address and an empty message.
const describeError = (error: unknown): string =>
  error instanceof AggregateError
    ? error.errors.map(describeError).join("; ")
    : errorMessage(error) || "it does not answer";

/** Converts an error of code in which only the journal can fail. */
export function journalFailure(error: unknown): JournalFailure {
  if (error instanceof JournalFailure) return error;
  const advice =
    error instanceof UnusableTables ? error.advice : say`${ask("Run")} mic-mcp doctor, which may show more.`;
  return new JournalFailure(error, [raw(describeError(error))], advice);
}

/** Errors of the SQLite package, for a Node version without SQLite, or of its binary. */
const NO_ENGINE =
  /cannot find (?:module|package)|no native build|could not locate the bindings|ERR_DLOPEN|invalid ELF/i;

const NO_SPACE = /No space left|disk (?:is )?full|could not extend|ENOSPC|EDQUOT|disk I\/O/i;
/** Space appears only when a person frees it, so an agent need not call more often. */
const NO_SPACE_RETRY_SECONDS = 30;

const SQLITE_ADVICE: readonly (readonly [RegExp, Text])[] = [
  [
    /symbolic link/,
    say`${ask("Replace")} the link with the journal file itself, or set MIC_STATE_DIR to the folder that contains the journal files for every mic-mcp server, and restart those servers.`,
  ],
  [
    /moved, replaced or deleted/,
    say`${ask("Put")} the journal files back if they were moved, and to restart every mic-mcp server that uses them.`,
  ],
  [NO_SPACE, say`${ask("Free")} space on the disk of the state folder, then call again.`],
  [
    /not a database|malformed|corrupt/i,
    say`${ask("Stop")} every mic-mcp server, move the damaged journal away (actions.sqlite in the state folder, and the files whose names begin with this one; keep them: they may contain unresolved actions), and start mic-mcp again.`,
  ],
  [/locked|busy/i, say`Another process holds the journal: call again in a few seconds.`],
];
const WRITABLE_ADVICE = say`${ask("Make")} the state folder writable, or set MIC_STATE_DIR to one that is; mic-mcp doctor shows which folder it is.`;

export function sqliteFailure(error: unknown): JournalFailure {
  if (error instanceof JournalFailure) return error;
  const reason = describeError(error);
  if (NO_ENGINE.test(`${errorCode(error)} ${reason}`))
    return new JournalFailure(
      error,
      say`node ${process.versions.node} has no SQLite inside, and the package @photostructure/sqlite is not installed for it`,
      say`${ask("Run")} Node 22.16 or newer, or install mic-mcp again with its optional packages (npm install --include=optional).`,
    );
  const [pattern, advice = WRITABLE_ADVICE] = SQLITE_ADVICE.find(([each]) => each.test(reason)) ?? [];
  return new JournalFailure(error, [raw(reason)], advice, pattern === NO_SPACE ? NO_SPACE_RETRY_SECONDS : undefined);
}

const HAVE_OPERATOR = say`${ask("Have")} the operator of this server`;

/** Returns a function that converts PostgreSQL errors. `isOperated`: the user cannot act themselves, only the operator of this server. */
export const postgresFailure =
  (variable: string, isOperated = false) =>
  (error: unknown): JournalFailure => {
    if (error instanceof JournalFailure) return error;
    const reason = describeError(error);
    const isFull = NO_SPACE.test(reason);
    const what = isFull
      ? say`${isOperated ? say`${HAVE_OPERATOR} free` : ask("Free")} space on the disk of the PostgreSQL server that ${variable} names`
      : say`${isOperated ? say`${HAVE_OPERATOR} check` : ask("Check")} ${variable} and its PostgreSQL server`;
    const advice = say`${what}, then call again.`;
    return new JournalFailure(
      error,
      say`PostgreSQL: ${raw(reason)}`,
      advice,
      isFull ? NO_SPACE_RETRY_SECONDS : undefined,
    );
  };
