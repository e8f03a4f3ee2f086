// The journal's tables, versioned and only ever forward. One text for SQLite and PostgreSQL.
import * as z from "zod/v4";
import { readCanonical } from "./canonical.ts";
import type { Database } from "./database.ts";
import { type ActionTraits, identify } from "./identity.ts";

type Migration = (query: Database["query"]) => Promise<void>;

const Row = z.object({
  service: z.string(),
  key: z.string(),
  tool: z.string(),
  arguments: z.string(),
  delivered_at: z.int().nullable(),
});

/** What distinguished actions when journals had version 3. */
const TRAITS: Readonly<Record<string, ActionTraits>> = {
  register_input: { about: "referenceId", notes: ["alias", "clientReference"] },
  submit_job: { about: "recipeVersionId", notes: ["clientReference"] },
  cancel_job: { about: "jobId", wording: ["reason"] },
  retry_job: { about: "jobId", wording: ["reason"] },
  request_file_processing: { about: "inputId" },
};
const BATCH = 500;

/** Of two undelivered actions that differed in their wording alone, the later one is what the same call is about. */
async function identifyAll(query: Database["query"]): Promise<void> {
  const taken = new Set<string>();
  for (;;) {
    const rows = await query("SELECT * FROM actions WHERE about IS NULL ORDER BY created_at DESC LIMIT $1", [BATCH]);
    if (rows.length === 0) return;
    for (const row of rows) {
      const { service, key, tool, arguments: canonical, delivered_at } = Row.parse(row);
      const identity = identify(readCanonical(canonical), TRAITS[tool] ?? { about: "" });
      const name = JSON.stringify([service, tool, identity.subjectHash]);
      const isLater = delivered_at === null && taken.has(name) ? 1 : 0;
      if (delivered_at === null) taken.add(name);
      await query(
        `UPDATE actions SET subject_hash = $3, work_hash = $4, about = $5, explicit = CASE WHEN $6 = 1 THEN 1 ELSE explicit END
         WHERE service = $1 AND key = $2`,
        [service, key, identity.subjectHash, identity.workHash, identity.about, isLater],
      );
    }
  }
}

/**
 * Times are milliseconds since 1970. `subject_hash`, `work_hash`, `about`: src/actions/identity.ts. `delivered_at`: when the outcome was
 * last sent to the agent. `heard_at`: when the agent showed that it had heard. `explicit`: 1 where the agent named the key itself. `in_doubt`: 1 where an attempt of
 * an earlier claim may have taken effect unseen. `repeatable`: 1 where nothing happened and the same bytes may be sent again.
 * `wire_key`: the Idempotency-Key on the wire, empty where it is `key`.
 */
const MIGRATIONS: readonly (readonly (string | Migration)[])[] = [
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
    "ALTER TABLE actions ADD COLUMN subject_hash TEXT NOT NULL DEFAULT ''",
    "ALTER TABLE actions ADD COLUMN work_hash TEXT NOT NULL DEFAULT ''",
    "ALTER TABLE actions ADD COLUMN heard_at BIGINT",
    "ALTER TABLE actions ADD COLUMN about TEXT",
    identifyAll,
    // Two copies of one call, made at once by two processes, are one action: the second insert finds this taken.
    "DROP INDEX actions_untold",
    `CREATE UNIQUE INDEX actions_undelivered ON actions (service, tool, subject_hash)
       WHERE delivered_at IS NULL AND explicit = 0`,
    "DROP INDEX actions_by_arguments",
    "CREATE INDEX actions_by_subject ON actions (service, tool, subject_hash, created_at)",
    "CREATE INDEX actions_by_work ON actions (service, tool, work_hash) WHERE state IN ('open', 'unknown')",
    `CREATE INDEX actions_unheard ON actions (service, resource_id)
       WHERE heard_at IS NULL AND state = 'succeeded' AND delivered_at IS NOT NULL`,
    // A job's history is looked for whenever it is read.
    "CREATE INDEX actions_about ON actions (service, about)",
    "CREATE INDEX actions_made ON actions (service, resource_id) WHERE resource_id IS NOT NULL",
  ],
  [
    // `needs`: the oldest journal version that a program must know to work with tables of this one. NULL: this one.
    "ALTER TABLE journal_version ADD COLUMN needs INTEGER",
    "ALTER TABLE actions ADD COLUMN wire_key TEXT NOT NULL DEFAULT ''",
  ],
  [
    // Who did what, of a deployment for teams: never an argument, never a body.
    `CREATE TABLE audit (
       id TEXT PRIMARY KEY, at BIGINT NOT NULL, event TEXT NOT NULL, caller TEXT NOT NULL, team TEXT NOT NULL, client TEXT NOT NULL,
       tool TEXT, key TEXT, resource_id TEXT, outcome TEXT NOT NULL, trace_id TEXT)`,
    "CREATE INDEX audit_by_time ON audit (at)",
  ],
];

/** Of a version that only adds: the oldest one whose programs go on beside it. */
const NEEDS: Readonly<Record<number, number>> = { 6: 5 };

export const JOURNAL_VERSION = MIGRATIONS.length;

const VersionRow = z.object({ version: z.int(), needs: z.int().nullish() });

export class NewerJournal extends Error {
  override readonly name = "NewerJournal";
}

/** Its tables are to be brought forward by somebody else. */
export class OlderJournal extends Error {
  override readonly name = "OlderJournal";
}

/** The version of the tables. Throws NewerJournal where one of `known` cannot work with them. */
async function versionOf(query: Database["query"], known: number): Promise<number> {
  const rows = (await query("SELECT * FROM journal_version")).map((row) => VersionRow.parse(row));
  const version = Math.max(0, ...rows.map((row) => row.version));
  const needs = Math.max(0, ...rows.map((row) => row.needs ?? row.version));
  if (needs > known) throw new NewerJournal(`it has version ${version}, and this mic-mcp knows ${known}`);
  return version;
}

/**
 * Brings the tables up to JOURNAL_VERSION; later ones that only add to it stay as they are. Throws NewerJournal when a later mic-mcp has
 * changed what is there, OlderJournal where they are not to be brought forward here.
 */
export async function migrate(database: Database, migrates = true): Promise<void> {
  const found = await versionOf(database.query, JOURNAL_VERSION).catch((error: unknown) => {
    if (error instanceof NewerJournal) throw error;
    // The table is not there yet. Whatever else it is shows below.
    return 0;
  });
  if (found >= JOURNAL_VERSION) return;
  if (!migrates) throw new OlderJournal(`it has version ${found}, and this mic-mcp needs ${JOURNAL_VERSION}`);
  await database.exclusively(async (query) => {
    await query("CREATE TABLE IF NOT EXISTS journal_version (version INTEGER NOT NULL)");
    // Another process may have been faster.
    for (let version = (await versionOf(query, JOURNAL_VERSION)) + 1; version <= JOURNAL_VERSION; version++) {
      for (const step of MIGRATIONS[version - 1] ?? []) await (typeof step === "string" ? query(step) : step(query));
      await query("INSERT INTO journal_version (version) VALUES ($1)", [version]);
      const needs = NEEDS[version];
      if (needs !== undefined)
        await query("UPDATE journal_version SET needs = $2 WHERE version = $1", [version, needs]);
    }
  });
}
