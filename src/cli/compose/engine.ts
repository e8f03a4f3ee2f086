// What the instances of a deployment for teams share: one database, the journal in it, and notices.
import type { Database } from "../../actions/database.ts";
import type { JournalHandle } from "../../actions/open.ts";
import { onceUntilFailure } from "../../async.ts";
import type { Notices } from "../../mcp/http/sealed/port.ts";
import type { StoreSettings } from "../../teams/settings.ts";
import { prepareSharedTables } from "../../teams/shared-tables.ts";
import { prepareTables } from "../../teams/tables.ts";
import { journalOf } from "../journal.ts";

export interface Engine {
  /** Opened at the first need; again where that failed. */
  readonly database: Database;
  readonly journal: JournalHandle;
  readonly notices: Notices | undefined;
  /** Brings all tables up to date. Throws what the driver throws. */
  migrate(): Promise<void>;
  close(): Promise<void>;
}

export function openEngine({ config, database: { urls, migrate: migrates } }: StoreSettings): Engine {
  const [url = ""] = urls;
  const connected = onceUntilFailure(async () => (await import("../../actions/postgres.ts")).openPostgres(url));
  const journal = journalOf({ ...config, journalUrl: url });

  async function prepare(): Promise<void> {
    const open = await connected.get();
    await journal.open();
    await prepareTables(open);
    await prepareSharedTables(open);
  }
  const opened = onceUntilFailure(async () => {
    if (migrates) await prepare();
    return await connected.get();
  });

  return {
    database: {
      query: async (sql, values) => await (await opened.get()).query(sql, values),
      querySoon: async (sql, values) => await (await opened.get()).querySoon(sql, values),
      exclusively: async (work) => await (await opened.get()).exclusively(work),
      close: async () => undefined,
    },
    journal,
    notices: undefined,
    migrate: prepare,
    async close() {
      await journal.close();
      await (await connected.ifStarted()?.catch(() => undefined))?.close();
    },
  };
}
