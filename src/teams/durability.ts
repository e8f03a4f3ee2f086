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
  "Give it two replicas, and have commits wait for one of them: synchronous_standby_names = 'ANY 1 (a, b)'.";

const notDurable = (error: string, next: string): Durability => ({ isDurable: false, error, next });

/** Throws the errors of the database. */
export async function checkDurability(query: Database["query"], mode: DurabilityMode): Promise<Durability> {
  const [row = {}] = await query(SQL);
  const commits = String(row["commits"]);
  if (commits === "off" || commits === "local")
    return notDurable(
      `PostgreSQL confirms what is not safe yet: synchronous_commit is ${commits}`,
      "Let connections set it: put no pooler in transaction mode between.",
    );
  if (row["standbys"] !== "" && Number(row["connected"]) > 0) return { isDurable: true };
  if (row["standbys"] !== "")
    return notDurable(
      "Every write hangs: commits wait for a replica of PostgreSQL, and none is connected",
      "Bring a replica back, or take synchronous_standby_names away for the time being; nothing that hangs is lost.",
    );
  if (mode === "synchronous")
    return notDurable(
      "No commit waits for a replica of PostgreSQL: synchronous_standby_names is empty, and a failover would lose actions",
      `${CONFIGURE_STANDBYS} Where one server without replicas is meant: MIC_DATABASE_DURABILITY=local.`,
    );
  if (Number(row["replicas"]) > 0)
    return notDurable(
      "PostgreSQL has replicas that no commit waits for, though MIC_DATABASE_DURABILITY=local says that it has none: a failover would lose actions",
      `${CONFIGURE_STANDBYS} Then leave MIC_DATABASE_DURABILITY out.`,
    );
  return { isDurable: true };
}
