// What the journal needs of a database: one SQL text with $1, $2 … runs on each driver.
export type Value = string | number | null;
export type DatabaseRow = Readonly<Record<string, unknown>>;

export interface Database {
  /** Runs one statement; what it returns, as rows. A write is on disk when this resolves. Throws AnswerLost where it may be there all the same. */
  query(sql: string, values?: readonly Value[]): Promise<readonly DatabaseRow[]>;
  /** Runs `work` all or nothing, with no other process in between that names the same lock (the journal's own, unless another is named). */
  exclusively(work: (query: Database["query"]) => Promise<void>, lock?: string): Promise<void>;
  /** SQL for the instant by the database's own clock, in milliseconds since 1970; absent where all who use it have one clock. */
  readonly clock?: string | undefined;
  close(): Promise<void>;
}

// By its name: drivers are parts of the program that are loaded by themselves, each with a class of its own.
const isOne = (error: unknown): boolean => error instanceof Error && error.name === "AnswerLost";

/** Whatever it was explained as since. */
export const isAnswerLost = (error: unknown): boolean => isOne(error) || (error instanceof Error && isOne(error.cause));

/** A connection broke under a statement: it may have been done, or may yet be. */
export class AnswerLost extends Error {
  override readonly name = "AnswerLost";
}
