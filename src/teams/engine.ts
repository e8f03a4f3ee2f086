// What the instances of a deployment for teams share: one database, the journal in it, and notices.
import type { Database } from "../actions/database.ts";
import type { Durability } from "../actions/durability.ts";
import { createNotices, type Notices } from "../actions/notices.ts";
import { createJournal, type JournalHandle } from "../actions/open.ts";
import type { PostgresDatabase } from "../actions/postgres.ts";
import { onceUntilFailure } from "../async.ts";
import { reasonOf } from "../failure.ts";
import type { Log } from "../mcp/runtime.ts";
import { ownName } from "../owner.ts";
import { systemTiming } from "../service/attempts.ts";
import { createDeploymentDatabase } from "./database.ts";
import type { StoreSettings } from "./settings.ts";
import { prepareSharedTables } from "./shared-tables.ts";
import { prepareTables } from "./tenancy/tables.ts";

const DAY_MS = 86_400_000;

export interface Engine {
  /** Opened at the first need, its tables up to date; again where that failed. */
  readonly database: Database;
  readonly journal: JournalHandle;
  readonly notices: Notices;
  /** Statements that wait for a connection now. */
  waiting(): number;
  /** Never rejects. */
  durability(): Promise<Durability>;
  /** Brings all tables up to date. Throws Failure. */
  migrate(): Promise<void>;
  close(): Promise<void>;
}

type Settings = Pick<StoreSettings, "config" | "database"> & { readonly auditDays?: number };

export function openEngine({ config, database: wanted, auditDays }: Settings, log?: Pick<Log, "warn">): Engine {
  const { urls, pool: connections, durability: meant, migrate: migrates } = wanted;
  const deployment = createDeploymentDatabase({ urls, connections, durability: meant });
  const journalWith = (brings: boolean): JournalHandle =>
    createJournal({
      stateDir: config.stateDir,
      url: undefined,
      database: deployment.open,
      migrates: brings,
      retentionMs: config.actionRetentionDays * DAY_MS,
      ...(auditDays !== undefined && { auditMs: auditDays * DAY_MS }),
      now: systemTiming.now,
      owner: ownName,
    });
  const journal = journalWith(migrates);

  async function migrate(): Promise<void> {
    const own = migrates ? journal : journalWith(true);
    await own.open();
    const database = await deployment.open();
    await prepareTables(database);
    await prepareSharedTables(database);
    if (own !== journal) await own.close();
  }
  let opened: PostgresDatabase | undefined;
  const prepared = onceUntilFailure(async () => {
    if (migrates) await migrate();
    opened = await deployment.open();
    return opened;
  });
  const query: Database["query"] = async (sql, values) => await (await prepared.get()).query(sql, values);

  const notices = createNotices({
    urls,
    query,
    onTrouble: (error) => log?.warn({ reason: reasonOf(error) }, "notices of other instances cannot be heard now"),
  });

  return {
    database: {
      query,
      exclusively: async (work, lock) => await (await prepared.get()).exclusively(work, lock),
      close: async () => undefined,
    },
    journal,
    notices,
    waiting: () => opened?.waiting() ?? 0,
    durability: deployment.durability,
    migrate,
    async close() {
      await notices.close();
      await journal.close();
      await deployment.close();
    },
  };
}
