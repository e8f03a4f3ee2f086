// What the journal needs of a database: one SQL text with $1, $2 … runs on each driver.
export type Value = string | number | null;
export type DatabaseRow = Readonly<Record<string, unknown>>;

export interface Database {
  /** Runs one statement; what it returns, as rows. A write is on disk when this resolves. */
  query(sql: string, values?: readonly Value[]): Promise<readonly DatabaseRow[]>;
  /** The same for a write that may be lost with the machine's power, and with nothing less; it waits for no disk. */
  querySoon(sql: string, values?: readonly Value[]): Promise<readonly DatabaseRow[]>;
  /** Runs `work` all or nothing, with no other process in between. */
  exclusively(work: (query: Database["query"]) => Promise<void>): Promise<void>;
  close(): Promise<void>;
}
