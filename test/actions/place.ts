// Where a journal is: a folder for SQLite, or a PostgreSQL URL.
import type { Database } from "../../src/actions/database.ts";
import { openPostgres } from "../../src/actions/postgres.ts";
import { openSqlite } from "../../src/actions/sqlite.ts";

export interface Place {
  readonly stateDir: string;
  readonly url?: string | undefined;
}

export const openAt = ({ stateDir, url }: Place): Promise<Database> =>
  url === undefined ? openSqlite(stateDir) : openPostgres(url);
