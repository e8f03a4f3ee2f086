// The journal's tables, versioned and only ever forward. One text for SQLite and PostgreSQL.
import type { Database } from "./database.ts";

const JOBS = "/sandbox/v1/mic/jobs/";

/**
 * Times are milliseconds since 1970. `explicit`: 1 where the agent named the key itself. `in_doubt`: 1 where an attempt of
 * an earlier claim may have taken effect unseen. `repeatable`: 1 where nothing happened and the same bytes may be sent again.
 */
const MIGRATIONS: readonly (readonly string[])[] = [
  [
    `CREATE TABLE actions (
       service TEXT NOT NULL, key TEXT NOT NULL, tool TEXT NOT NULL,
       arguments TEXT NOT NULL, arguments_hash TEXT NOT NULL, explicit INTEGER NOT NULL,
       path TEXT NOT NULL, if_match TEXT NOT NULL, body TEXT NOT NULL, body_hash TEXT NOT NULL,
       state TEXT NOT NULL, in_doubt INTEGER NOT NULL, attempts INTEGER NOT NULL, owner TEXT NOT NULL, lease_until BIGINT NOT NULL,
       outcome TEXT, repeatable INTEGER NOT NULL, resource_id TEXT,
       created_at BIGINT NOT NULL, updated_at BIGINT NOT NULL, delivered_at BIGINT,
       PRIMARY KEY (service, key))`,
    // Two copies of one call, made at once by two processes, are one action: the second insert finds this taken.
    `CREATE UNIQUE INDEX actions_untold ON actions (service, tool, arguments_hash)
       WHERE delivered_at IS NULL AND explicit = 0`,
    `CREATE INDEX actions_by_arguments ON actions (service, tool, arguments_hash) WHERE delivered_at IS NULL`,
    `CREATE INDEX actions_by_time ON actions (updated_at)`,
    `CREATE INDEX actions_open ON actions (owner) WHERE state = 'open'`,
  ],
  [
    // Since when the service may know the key: an action that was put off, to be sent a day later, is not a day old.
    "ALTER TABLE actions ADD COLUMN first_sent_at BIGINT NOT NULL DEFAULT 0",
    "UPDATE actions SET first_sent_at = created_at",
  ],
  // What is open or unknown is looked for whenever a job is read, among any number of actions that are neither.
  ["CREATE INDEX actions_unsettled ON actions (updated_at) WHERE state IN ('open', 'unknown')"],
  [
    // The job that an action is about, as its path names it (percent-encoded): a job's history is looked for whenever it is read.
    "ALTER TABLE actions ADD COLUMN about TEXT",
    `UPDATE actions SET about = REPLACE(REPLACE(SUBSTR(path, ${JOBS.length + 1}), '/cancellations', ''), '/retries', '')
       WHERE path LIKE '${JOBS}%/%'`,
    "CREATE INDEX actions_about ON actions (service, about) WHERE about IS NOT NULL",
    "CREATE INDEX actions_made ON actions (service, resource_id) WHERE resource_id IS NOT NULL",
  ],
];

export const JOURNAL_VERSION = MIGRATIONS.length;

export class NewerJournal extends Error {
  override readonly name = "NewerJournal";
}

/** Brings the tables up to JOURNAL_VERSION. Throws NewerJournal when a later mic-mcp has written them. */
export async function migrate(database: Database): Promise<void> {
  const versionOf = async (query: Database["query"]): Promise<number> => {
    const [row] = await query("SELECT MAX(version) AS version FROM journal_version");
    const version = typeof row?.["version"] === "number" ? row["version"] : 0;
    if (version > JOURNAL_VERSION)
      throw new NewerJournal(`it has version ${version}, and this mic-mcp knows ${JOURNAL_VERSION}`);
    return version;
  };
  const found = await versionOf(database.query).catch((error: unknown) => {
    if (error instanceof NewerJournal) throw error;
    // The table is not there yet. Whatever else it is shows below.
    return 0;
  });
  if (found === JOURNAL_VERSION) return;
  await database.exclusively(async (query) => {
    await query("CREATE TABLE IF NOT EXISTS journal_version (version INTEGER NOT NULL)");
    // Another process may have been faster.
    for (let version = await versionOf(query); version < JOURNAL_VERSION; version++) {
      for (const statement of MIGRATIONS[version] ?? []) await query(statement);
      await query("INSERT INTO journal_version (version) VALUES ($1)", [version + 1]);
    }
  });
}
