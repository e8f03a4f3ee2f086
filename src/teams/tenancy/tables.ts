// The tables of teams and their members, beside the journal in the deployment's PostgreSQL. Only ever added to, by statements that find
// what is there: so the version before goes on beside this one.
import type { Database } from "../../actions/database.ts";

/** Times are milliseconds since 1970. `sealed`: src/auth/seals.ts. `secret_file`: a path on every instance. */
const TABLES = [
  `CREATE TABLE IF NOT EXISTS teams (
     name TEXT PRIMARY KEY, base_url TEXT NOT NULL, client_id TEXT NOT NULL, workspace_id TEXT NOT NULL, claim TEXT,
     sealed TEXT, secret_file TEXT, created_at BIGINT NOT NULL, changed_at BIGINT NOT NULL,
     CHECK ((sealed IS NULL) <> (secret_file IS NULL)))`,
  // Whoever holds the credentials reads all that was made with them: one client is one team.
  "CREATE UNIQUE INDEX IF NOT EXISTS teams_by_client ON teams (base_url, client_id)",
  "CREATE INDEX IF NOT EXISTS teams_by_claim ON teams (claim)",
  `CREATE TABLE IF NOT EXISTS team_members (
     issuer TEXT NOT NULL, subject TEXT NOT NULL, team TEXT NOT NULL REFERENCES teams (name) ON DELETE CASCADE,
     PRIMARY KEY (issuer, subject, team))`,
  "CREATE INDEX IF NOT EXISTS team_members_by_team ON team_members (team)",
];

/** Makes what is not there. Throws what the driver throws. */
export const prepareTables = (database: Database): Promise<void> =>
  database.exclusively(async (query) => {
    for (const table of TABLES) await query(table);
  });
