// This module creates and migrates the journal's tables, with the same SQL for SQLite and PostgreSQL: a baseline schema and later changes.
import * as z from "zod/v4";
import { ask, say } from "../core/text.ts";
import { type Database, UnusableTables } from "../store/database.ts";

/** Version of the baseline. Development versions before the first release wrote versions 1 to 8. */
const BASELINE = 9;

const BASELINE_STATEMENTS: readonly string[] = [
  // The columns are described in src/actions/action-row.ts.
  `CREATE TABLE actions (
     service TEXT NOT NULL, key TEXT NOT NULL, upstream_key TEXT NOT NULL, tool TEXT NOT NULL,
     arguments TEXT NOT NULL, fingerprint TEXT NOT NULL, slot INTEGER NOT NULL, about TEXT NOT NULL,
     path TEXT NOT NULL, if_match TEXT NOT NULL, body TEXT NOT NULL,
     state TEXT NOT NULL, indeterminate INTEGER NOT NULL, attempts INTEGER NOT NULL, owner TEXT NOT NULL, lease_until BIGINT NOT NULL,
     outcome TEXT, resource_id TEXT,
     created_at BIGINT NOT NULL, first_sent_at BIGINT NOT NULL, updated_at BIGINT NOT NULL, resolved_at BIGINT,
     PRIMARY KEY (service, key))`,
  // Each action is written to most indexes twice, so they contain only the columns that a query needs.
  // If two processes make identical calls without a key at the same moment, only one gets the slot.
  "CREATE UNIQUE INDEX actions_slot ON actions (service, tool, fingerprint) WHERE slot = 1",
  "CREATE INDEX actions_by_fingerprint ON actions (fingerprint, created_at)",
  "CREATE INDEX actions_by_time ON actions (updated_at)",
  "CREATE INDEX actions_by_state ON actions (service, state, updated_at)",
  "CREATE INDEX actions_unresolved ON actions (updated_at) WHERE state IN ('in_progress', 'unknown')",
  "CREATE INDEX actions_about ON actions (about)",
  "CREATE INDEX actions_made ON actions (service, resource_id) WHERE resource_id IS NOT NULL",
];

const POSTGRES_STATEMENTS: readonly string[] = [
  // With this free space, the outcome of an action fits into the page of its row, and PostgreSQL logs only the changed part of the row.
  "ALTER TABLE actions SET (fillfactor = 60)",
];

/** Statements of each version after the baseline, in order. */
const CHANGES: readonly (readonly string[])[] = [
  ["ALTER TABLE actions ADD COLUMN first_sent_api_at BIGINT"],
  // Version 11 created a table that src/teams/ now creates.
  [],
  // One index for both purposes: it finds the rows of a fingerprint, and only one of them may have the slot. Rows of earlier versions have null.
  [
    "ALTER TABLE actions ADD COLUMN bound_fingerprint TEXT",
    `CREATE UNIQUE INDEX actions_bound ON actions (bound_fingerprint, (CASE WHEN slot = 1 THEN '' ELSE key END))
       WHERE bound_fingerprint IS NOT NULL`,
  ],
];

/** For a version that only adds to the tables: the oldest version whose programs can still use them. */
const COMPATIBLE_WITH: Readonly<Record<number, number>> = { 10: BASELINE, 11: BASELINE, 12: BASELINE };

export const JOURNAL_VERSION = BASELINE + CHANGES.length;

/**
 * SQL condition: a later mic-mcp has changed the tables in a way that this one does not support. `needs` is the oldest version that a
 * program must support to use the tables; null stands for `version`.
 */
export const IS_CHANGED_BY_LATER_VERSION = `EXISTS (SELECT 1 FROM journal_version WHERE COALESCE(needs, version) > ${JOURNAL_VERSION})`;

const VersionRow = z.object({ version: z.int(), needs: z.int().nullish() });

export class NewerJournal extends UnusableTables {
  override readonly name = "NewerJournal";
  constructor(version: number) {
    super(
      `its tables have version ${version}, and this mic-mcp supports up to ${JOURNAL_VERSION}`,
      say`${ask("Run")} the version of mic-mcp that changed them, or a later one. Other tables would not know which actions have run.`,
    );
  }
}

/** Returns the version of the tables, 0 if there are none. Throws NewerJournal. */
export async function readJournalVersion(query: Database["query"]): Promise<number> {
  const rows = (await query("SELECT * FROM journal_version")).map((row) => VersionRow.parse(row));
  const version = Math.max(0, ...rows.map((row) => row.version));
  const needs = Math.max(0, ...rows.map((row) => row.needs ?? row.version));
  if (needs > JOURNAL_VERSION) throw new NewerJournal(version);
  return version;
}

/** Like `readJournalVersion`, but returns 0 also if the version cannot be read. */
export const findJournalVersion = ({ query }: Pick<Database, "query">): Promise<number> =>
  readJournalVersion(query).catch((error: unknown) => {
    if (error instanceof UnusableTables) throw error;
    // The table does not exist yet. Any other error occurs again when the journal is opened.
    return 0;
  });

/** Throws UnusableTables if a later mic-mcp has changed them, or if `migrates` is false and they are not up to date. */
export async function migrateSchema(database: Database, migrates = true): Promise<void> {
  const found = await findJournalVersion(database);
  if (found >= JOURNAL_VERSION) return;
  if (!migrates)
    throw new UnusableTables(
      `it has version ${found}, and this mic-mcp needs ${JOURNAL_VERSION}`,
      say`${ask("Run")} mic-mcp teams migrate, or start without MIC_MIGRATE=off.`,
    );
  await database.withExclusiveTransaction(async (query) => {
    await query("CREATE TABLE IF NOT EXISTS journal_version (version INTEGER NOT NULL, needs INTEGER)");
    // Another process may have migrated the tables meanwhile.
    const current = await readJournalVersion(query);
    for (let version = Math.max(current + 1, BASELINE); version <= JOURNAL_VERSION; version++) {
      const statements = version === BASELINE ? BASELINE_STATEMENTS : (CHANGES[version - BASELINE - 1] ?? []);
      for (const statement of statements) await query(statement);
      // Only PostgreSQL has a clock.
      if (version === BASELINE && database.clock !== undefined)
        for (const statement of POSTGRES_STATEMENTS) await query(statement);
      await query("INSERT INTO journal_version (version, needs) VALUES ($1, $2)", [
        version,
        COMPATIBLE_WITH[version] ?? null,
      ]);
    }
  });
}
