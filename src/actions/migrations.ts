// The journal's tables, versioned and only ever forward. One text for SQLite and PostgreSQL.
import type { Database } from "./database.ts";

/** Times are milliseconds since 1970; `explicit` is 1 where the agent named the key itself. */
const MIGRATIONS: readonly (readonly string[])[] = [
  [
    `CREATE TABLE actions (
       service TEXT NOT NULL, key TEXT NOT NULL, tool TEXT NOT NULL,
       arguments TEXT NOT NULL, arguments_hash TEXT NOT NULL, explicit INTEGER NOT NULL,
       path TEXT NOT NULL, if_match TEXT NOT NULL, body TEXT NOT NULL, body_hash TEXT NOT NULL,
       state TEXT NOT NULL, attempts INTEGER NOT NULL, owner TEXT NOT NULL, lease_until BIGINT NOT NULL,
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
];

export const JOURNAL_VERSION = MIGRATIONS.length;

export class NewerJournal extends Error {
  override readonly name = "NewerJournal";
}

/** Brings the tables up to JOURNAL_VERSION. Throws NewerJournal when a later mic-mcp has written them. */
export async function migrate(database: Database): Promise<void> {
  await database.query("CREATE TABLE IF NOT EXISTS journal_version (version INTEGER NOT NULL)");
  const versionOf = async (query: Database["query"]): Promise<number> => {
    const [row] = await query("SELECT MAX(version) AS version FROM journal_version");
    return typeof row?.["version"] === "number" ? row["version"] : 0;
  };
  const found = await versionOf(database.query);
  if (found > JOURNAL_VERSION)
    throw new NewerJournal(`it has version ${found}, and this mic-mcp knows ${JOURNAL_VERSION}`);
  if (found === JOURNAL_VERSION) return;
  await database.exclusively(async (query) => {
    // Another process may have been faster.
    for (let version = await versionOf(query); version < JOURNAL_VERSION; version++) {
      for (const statement of MIGRATIONS[version] ?? []) await query(statement);
      await query("INSERT INTO journal_version (version) VALUES ($1)", [version + 1]);
    }
  });
}
