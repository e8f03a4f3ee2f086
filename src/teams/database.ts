// Opens the database of a deployment: the connection to the current PostgreSQL primary, the tables and the journal.

import { createJournalHandle, type JournalHandle } from "../actions/journal-handle.ts";
import { findJournalVersion, readJournalVersion } from "../actions/schema.ts";
import { systemTiming } from "../api-client/attempts.ts";
import { memoizeUntilFailure } from "../core/async.ts";
import { errorMessage, notConfigured } from "../core/failure.ts";
import { processOwner } from "../core/owner.ts";
import { raw, say } from "../core/text.ts";
import { GEOGRAPHY_TABLES } from "../geography/store.ts";
import { type Database, isSelect, POSTGRES_CLOCK, postgresFailure } from "../store/database.ts";
import type { PostgresDatabase, PostgresOptions } from "../store/postgres.ts";
import type { Telemetry } from "../telemetry/port.ts";
import { startAuditMaintenance } from "./audit/rows.ts";
import {
  checkDurability,
  createDurableWrite,
  createSpaceCheck,
  type DatabaseFigures,
  DEPLOYMENT_TABLES,
  type DurabilityProblem,
  readFigures,
} from "./durability.ts";
import { createLossDetector } from "./lost-rows.ts";
import type { DatabaseSettings, StoreSettings } from "./settings.ts";
import { COOLDOWN_TABLES } from "./tenancy/cooldowns.ts";
import { LOSS_TABLES } from "./tenancy/lost-actions.ts";
import { prepareTables } from "./tenancy/teams.ts";
import { SECRETS_TABLES } from "./tenancy/upstream-secret.ts";
import type { TimeRange } from "./variables.ts";

const DAY_MS = 86_400_000;
/** One for a commit, which may wait for a replica, and one for reads. */
const CHECK_CONNECTIONS = 2;
/** Writes are refused for at most this time after a check, in case no other check follows. */
const BLOCKED_MS = 10_000;
/** Agents read this text, so it does not name the replicas. */
const BLOCKED = "all writes are blocked, because commits wait for a replica and none confirms";

/** Connects to the primary. Errors are Failures whose next step is about MIC_DATABASE_URL. */
export function connectToPrimary(
  { urls, pool, durability: mode }: Omit<DatabaseSettings, "migrate">,
  { telemetry, onNewServer }: Pick<PostgresOptions, "telemetry" | "onNewServer"> = {},
) {
  const space = createSpaceCheck(() => performance.now());
  const mapError = postgresFailure("MIC_DATABASE_URL", true);
  let blockedUntilMs = Number.NEGATIVE_INFINITY;
  const open = async (settings: PostgresOptions): Promise<PostgresDatabase> => {
    const { openPostgres } = await import("../store/postgres.ts");
    const opened = await openPostgres(urls.join(","), { telemetry, ...settings, failover: true, mapError });
    return { ...opened, query: (sql, values) => space.observe(opened.query(sql, values)) };
  };
  const database = memoizeUntilFailure(async (): Promise<PostgresDatabase> => {
    const opened = await open({ connections: pool, ...(onNewServer && { onNewServer }) });
    return {
      ...opened,
      query: (sql, values) =>
        performance.now() < blockedUntilMs && !isSelect(sql)
          ? Promise.reject(mapError(new Error(BLOCKED)))
          : opened.query(sql, values),
    };
  });
  // The checks have connections of their own, so they work while all others are busy.
  const checks = memoizeUntilFailure(() => open({ connections: CHECK_CONNECTIONS }));
  const query: Database["query"] = async (sql, values) => await (await checks.get()).query(sql, values);

  return {
    open: database.get,
    /**
     * Returns why the database cannot be reached, or why commits may not survive the loss of a server. While commits wait for a replica and
     * none confirms, writes are refused at once. Never rejects.
     */
    async findDurabilityProblem(): Promise<DurabilityProblem | undefined> {
      const problem = await checkDurability(query, mode).catch((error: unknown) => ({
        error: `The database cannot be used: ${errorMessage(error).replace(/\.$/, "")}`,
        next: "Check MIC_DATABASE_URL and its PostgreSQL servers.",
        isBlocked: undefined,
      }));
      blockedUntilMs = problem?.isBlocked ? performance.now() + BLOCKED_MS : Number.NEGATIVE_INFINITY;
      return problem;
    },
    readFigures: (): Promise<DatabaseFigures> => readFigures(query),
    /** Commits a row durably (see `createDurableWrite`). */
    writeDurably: createDurableWrite(query),
    /** Rejects if PostgreSQL has no space for new rows. */
    checkSpace: async (): Promise<void> => await space.check(query),
    async close(): Promise<void> {
      for (const opened of [database, checks]) await (await opened.ifStarted()?.catch(() => undefined))?.close();
    },
  };
}

/** Tables that instances share, in addition to the journal. Changes only add to them, so an older version can run at the same time. */
const SHARED_TABLES = {
  ...GEOGRAPHY_TABLES,
  ...COOLDOWN_TABLES,
  ...DEPLOYMENT_TABLES,
  ...SECRETS_TABLES,
  ...LOSS_TABLES,
};

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
      if (problem) throw notConfigured(say`${raw(problem.error)}.`, [raw(problem.next)]);
      // Of the statements on a new server, this is the first: the check's own connections do not search for lost rows.
      await readJournalVersion(query);
      const lost = await primary.writeDurably();
      await primary.checkSpace();
      if (lost) onLoss(lost);
    },
    readFigures: primary.readFigures,
    migrate,
    /** Returns the version of the tables, 0 if there are none. Changes nothing. */
    findVersion: async (): Promise<number> => await findJournalVersion(await primary.open()),
    async close(): Promise<void> {
      await journal.close();
      await endAuditMaintenance();
      await primary.close();
    },
  };
}
