// Rows of sessions on either database: most tests need no PostgreSQL, and the statements are the same.
import { onTestFinished } from "vitest";
import type { Database } from "../../../src/actions/database.ts";
import { openSqlite } from "../../../src/actions/sqlite.ts";
import type { SessionRows } from "../../../src/mcp/http/sealed/port.ts";
import { createSessionRows } from "../../../src/teams/session-rows.ts";
import { prepareSharedTables } from "../../../src/teams/shared-tables.ts";
import { folderForTest } from "../../support/home.ts";

/** For the running test. */
export async function rowsOn(database: Database, team = "team"): Promise<SessionRows> {
  await prepareSharedTables(database);
  onTestFinished(() => database.close());
  return createSessionRows(database, team);
}

export const rowsForTest = async (): Promise<SessionRows> => await rowsOn(await openSqlite(await folderForTest()));
