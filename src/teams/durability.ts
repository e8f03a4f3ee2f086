// Checks whether a commit that PostgreSQL confirms survives the loss of its server. If a failover loses a journal row,
// its action may run twice.
import type { Database } from "../actions/store/database.ts";

/** "local": one server without replicas; only a backup protects its data. */
export type DurabilityMode = "synchronous" | "local";

export type Durability =
  | { readonly isDurable: true }
  | {
      readonly isDurable: false;
      /** A clause without a full stop. */
      readonly error: string;
      /** One or two sentences that describe the fix. */
      readonly next: string;
    };

// Every role can count the connected replicas. Only a role that may read statistics can read their state and name.
const SQL = `SELECT current_setting('synchronous_commit') AS commits, current_setting('synchronous_standby_names') AS standbys,
  (SELECT COUNT(*) FROM pg_stat_replication) AS connected,
  (SELECT COUNT(*) FROM pg_stat_replication
     WHERE state = 'streaming' AND application_name NOT IN ('pg_basebackup', 'pg_receivewal')) AS replicas`;

const CONFIGURE_STANDBYS =
  "Add two replicas, and make commits wait for one of them: synchronous_standby_names = 'ANY 1 (a, b)'.";

const notDurable = (error: string, next: string): Durability => ({ isDurable: false, error, next });

/** Throws the errors of the database. */
export async function checkDurability(query: Database["query"], mode: DurabilityMode): Promise<Durability> {
  const [row = {}] = await query(SQL);
  const commits = String(row["commits"]);
  if (commits === "off" || commits === "local")
    return notDurable(
      `PostgreSQL confirms commits before they are durable: synchronous_commit is ${commits}`,
      "Allow connections to set it: do not use a connection pooler in transaction mode.",
    );
  if (row["standbys"] !== "" && Number(row["connected"]) > 0) return { isDurable: true };
  if (row["standbys"] !== "")
    return notDurable(
      "All writes are blocked: commits wait for a PostgreSQL replica, and no replica is connected",
      "Reconnect a replica, or clear synchronous_standby_names temporarily; blocked writes are not lost.",
    );
  if (mode === "synchronous")
    return notDurable(
      "Commits do not wait for a PostgreSQL replica: synchronous_standby_names is empty, so a failover would lose actions",
      `${CONFIGURE_STANDBYS} To use one server without replicas, set MIC_DATABASE_DURABILITY=local.`,
    );
  if (Number(row["replicas"]) > 0)
    return notDurable(
      "MIC_DATABASE_DURABILITY is local, but PostgreSQL has replicas and commits do not wait for them: a failover would lose actions",
      `${CONFIGURE_STANDBYS} Then unset MIC_DATABASE_DURABILITY.`,
    );
  return { isDurable: true };
}
