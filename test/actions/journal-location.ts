// Describes the location of a journal: a folder for SQLite, or a PostgreSQL URL.
import type { Database } from "../../src/actions/store/database.ts";
import { openPostgres } from "../../src/actions/store/postgres.ts";
import { openSqlite } from "../../src/actions/store/sqlite.ts";

export interface JournalLocation {
  readonly stateDir: string;
  readonly url?: string | undefined;
}

export const openDatabaseAt = ({ stateDir, url }: JournalLocation): Promise<Database> =>
  url === undefined ? openSqlite(stateDir) : openPostgres(url);
