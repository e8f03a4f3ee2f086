// Opens the database of a deployment: the connection to the current PostgreSQL primary, the tables and the journal.

import { createJournalHandle, type JournalHandle } from "../actions/journal-handle.ts";
import { systemTiming } from "../api-client/attempts.ts";
import { memoizeUntilFailure } from "../core/async.ts";
import { errorMessage, notConfigured } from "../core/failure.ts";
import { processOwner } from "../core/owner.ts";
import { GEOGRAPHY_TABLES } from "../geography/store.ts";
import { type Database, POSTGRES_CLOCK, postgresFailure } from "../store/database.ts";
import type { PostgresDatabase, PostgresOptions } from "../store/postgres.ts";
import type { Telemetry } from "../telemetry/port.ts";
import { startAuditMaintenance } from "./audit/rows.ts";
import {
  checkDurability,
  createDurableWrite,
  createSpaceCheck,
  DEPLOYMENT_TABLES,
  type DurabilityProblem,
} from "./durability.ts";
import { createLossDetector } from "./lost-rows.ts";
import type { DatabaseSettings, StoreSettings } from "./settings.ts";
import { COOLDOWN_TABLES } from "./tenancy/cooldowns.ts";
import { prepareTables } from "./tenancy/teams.ts";
import { SECRETS_TABLES } from "./tenancy/upstream-secret.ts";
import type { TimeRange } from "./variables.ts";

const DAY_MS = 86_400_000;

/** Connects to the primary. Errors are Failures whose next step is about MIC_DATABASE_URL. */
export function connectToPrimary(
  { urls, pool, durability: mode }: Omit<DatabaseSettings, "migrate">,
  options: Pick<PostgresOptions, "telemetry" | "onNewServer"> = {},
) {
  const space = createSpaceCheck(() => performance.now());
  const database = memoizeUntilFailure(async (): Promise<PostgresDatabase> => {
    const { openPostgres } = await import("../store/postgres.ts");
    const mapError = postgresFailure("MIC_DATABASE_URL", "have the operator of this server ");
    const opened = await openPostgres(urls.join(","), { ...options, connections: pool, failover: true, mapError });
    return { ...opened, query: (sql, values) => space.observe(opened.query(sql, values)) };
  });
  return {
    open: database.get,
    /** Returns why the database cannot be reached, or why commits may not survive the loss of a server. Never rejects. */
    findDurabilityProblem: (): Promise<DurabilityProblem | undefined> =>
      database
        .get()
        .then(({ query }) => checkDurability(query, mode))
        .catch((error: unknown) => ({
          error: `The database cannot be used: ${errorMessage(error).replace(/\.$/, "")}`,
          next: "Check MIC_DATABASE_URL and its PostgreSQL servers.",
        })),
    /** Rejects if PostgreSQL has no space for new rows. */
    checkSpace: async (): Promise<void> => await space.check((await database.get()).query),
    async close(): Promise<void> {
      const opened = await database.ifStarted()?.catch(() => undefined);
      await opened?.close();
    },
  };
}

/** Tables that instances share, in addition to the journal. Changes only add to them, so an older version can run at the same time. */
const SHARED_TABLES = { ...GEOGRAPHY_TABLES, ...COOLDOWN_TABLES, ...DEPLOYMENT_TABLES, ...SECRETS_TABLES };

export type DeploymentDatabase = ReturnType<typeof openDatabase>;

type Settings = Pick<StoreSettings, "config" | "database"> & { readonly auditRetentionDays?: number };

interface Options {
  readonly telemetry?: Telemetry;
  /** Receives the time range whose rows a restore or a failover lost, each time that it is read. */
  readonly onLoss?: (range: TimeRange) => void;
}

export function openDatabase(
  { config, database: settings, auditRetentionDays }: Settings,
  { telemetry, onLoss = () => undefined }: Options = {},
) {
  const { migrate: shouldMigrate } = settings;
  const { onWrite, onNewServer } = createLossDetector(processOwner, onLoss);
  const primary = connectToPrimary(settings, { telemetry, onNewServer });
  const createJournalWith = (mayMigrate: boolean): JournalHandle =>
    createJournalHandle({
      stateDir: config.stateDir,
      url: undefined,
      database: primary.open,
      migrates: mayMigrate,
      retentionMs: config.actionRetentionDays * DAY_MS,
      now: systemTiming.now,
      owner: processOwner,
      onWrite,
    });
  const journal = createJournalWith(shouldMigrate);

  /** Brings all tables up to date. Throws Failure. */
  async function migrate(): Promise<void> {
    const migrating = shouldMigrate ? journal : createJournalWith(true);
    await migrating.open();
    const database = await primary.open();
    await prepareTables(database);
    await database.withExclusiveTransaction(async (query) => {
      for (const [name, columns] of Object.entries(SHARED_TABLES))
        await query(`CREATE TABLE IF NOT EXISTS ${name} (${columns})`);
    });
    if (migrating !== journal) await migrating.close();
  }

  let opened: PostgresDatabase | undefined;
  let endAuditMaintenance = async (): Promise<void> => undefined;
  const prepared = memoizeUntilFailure(async () => {
    if (shouldMigrate) await migrate();
    opened = await primary.open();
    if (auditRetentionDays !== undefined)
      endAuditMaintenance = startAuditMaintenance(opened, auditRetentionDays * DAY_MS);
    return opened;
  });
  const query: Database["query"] = async (sql, values) => await (await prepared.get()).query(sql, values);
  const writeDurably = createDurableWrite(query);
  /** Opened at first use, or again after a failure. If MIC_MIGRATE is not off, its tables are brought up to date first. */
  const database: Database = {
    query,
    withExclusiveTransaction: async (work, lock) => await (await prepared.get()).withExclusiveTransaction(work, lock),
    clock: POSTGRES_CLOCK,
    // Its users share it; close() below closes it.
    close: async () => undefined,
  };

  return {
    database,
    journal,
    /** Number of statements that now wait for a connection. */
    waiting: (): number => opened?.waitingCount() ?? 0,
    /** Resolves after a durable commit. Rejects if no action can be recorded. */
    async check(): Promise<void> {
      const problem = await primary.findDurabilityProblem();
      if (problem) throw notConfigured(`${problem.error}.`, problem.next);
      const lost = await writeDurably();
      await primary.checkSpace();
      if (lost) onLoss(lost);
    },
    migrate,
    async close(): Promise<void> {
      await journal.close();
      await endAuditMaintenance();
      await primary.close();
    },
  };
}
