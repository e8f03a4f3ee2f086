// The tables by which instances share limits and what they have read. They are only added to, by statements that find what is there: so
// the version before goes on beside this one.
import type { Database } from "../actions/database.ts";
import { LIST_TABLES } from "../geography/list-table.ts";
import { GEOGRAPHY_TABLES } from "../geography/neighbours.ts";
import { SERVICE_REST_TABLES } from "./tenancy/cooldowns.ts";

const TABLES = { ...GEOGRAPHY_TABLES, ...LIST_TABLES, ...SERVICE_REST_TABLES };

/** Makes what is not there: at the start of `serve --teams`, and by `migrate`. Throws what the driver throws. */
export const prepareSharedTables = (database: Database): Promise<void> =>
  database.exclusively(async (query) => {
    for (const [name, columns] of Object.entries(TABLES))
      await query(`CREATE TABLE IF NOT EXISTS ${name} (${columns})`);
  });
