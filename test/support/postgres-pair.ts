// Starts a PostgreSQL server with replicas on loopback ports. A test can kill the primary, promote and rejoin others. Linux only.
import { rmSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { createPostgresInstallation, type PostgresNode } from "./postgres.ts";

/** Failover tests do not depend on the disk. */
const SETTINGS = [
  "fsync=off",
  "full_page_writes=on",
  "autovacuum=off",
  "max_connections=200",
  "wal_retrieve_retry_interval=200",
];
/** A connection string that no server answers: a replica with it is cut off. */
const NOWHERE = "host=127.0.0.1 port=1";

export async function startPostgresPair(replicas = 1) {
  const installation = createPostgresInstallation();
  const nodes: PostgresNode[] = [];
  for (const name of ["a", "b", "c", "d"].slice(0, replicas + 1))
    nodes.push(await installation.createServer(name, [...SETTINGS, `cluster_name=${name}`]));
  const [first] = nodes;
  if (!first) throw new Error("no server");
  let primary = first;
  let former: PostgresNode | undefined;
  let databases = 0;

  const others = () => nodes.filter((node) => node !== primary);
  const standbys = () => others().filter((node) => node.isRunning());

  async function applySetting(node: PostgresNode, setting: string): Promise<void> {
    // ALTER SYSTEM does not wait for a replica, so it can also change the setting that requires one.
    await node.query(`ALTER SYSTEM SET ${setting}`);
    await node.query("SELECT pg_reload_conf()");
  }

  async function waitUntil(what: string, isSo: () => Promise<boolean>): Promise<void> {
    for (let tries = 0; tries < 1_200; tries++) {
      if (await isSo().catch(() => false)) return;
      await sleep(50);
    }
    throw new Error(`not within a minute: ${what}`);
  }

  /** Commits wait for one of these; for none if there are none. */
  function waitForOneOf(standbysOfCommits: readonly PostgresNode[]): Promise<void> {
    const names = standbysOfCommits.map(({ name }) => name).join(", ");
    return applySetting(primary, `synchronous_standby_names = '${names === "" ? "" : `ANY 1 (${names})`}'`);
  }

  /** Sets whether commits wait for a replica (`ANY 1`, the default). */
  async function setSynchronous(isEnabled: boolean): Promise<void> {
    await waitForOneOf(isEnabled ? others() : []);
    await waitUntil("what commits wait for", async () => {
      const [row] = await primary.query("SHOW synchronous_standby_names");
      return (row?.["synchronous_standby_names"] !== "") === isEnabled;
    });
  }

  const connectToPrimary = (node: PostgresNode) =>
    applySetting(node, `primary_conninfo = 'host=127.0.0.1 port=${primary.port} user=mic'`);

  const waitForReplicas = () =>
    waitUntil("the replicas follow", async () => {
      const rows = await primary.query("SELECT 1 FROM pg_stat_replication WHERE state = 'streaming'");
      return rows.length === others().length;
    });

  /** Recreates all other servers as replicas of the primary. Commits wait for them again. */
  async function rejoinReplicas(): Promise<void> {
    former = undefined;
    for (const node of others()) {
      await node.end("SIGQUIT");
      rmSync(node.data, { recursive: true, force: true });
      installation.run("pg_basebackup", [
        ...["-D", node.data, "-h", "127.0.0.1", "-p", String(primary.port), "-U", "mic"],
        ...["-R", "-c", "fast", "-X", "stream", "--no-sync"],
      ]);
      await node.start();
    }
    await waitForReplicas();
    await setSynchronous(true);
  }

  async function readReceivedBytes(node: PostgresNode): Promise<number> {
    const [row] = await node.query("SELECT (COALESCE(pg_last_wal_receive_lsn(), '0/0') - '0/0')::float8 AS bytes");
    return Number(row?.["bytes"]);
  }

  /** The running replicas, the one that has received most first. */
  async function rankReplicas(): Promise<readonly PostgresNode[]> {
    const ranked = await Promise.all(standbys().map(async (node) => ({ node, bytes: await readReceivedBytes(node) })));
    return ranked.sort((one, two) => two.bytes - one.bytes).map(({ node }) => node);
  }

  async function promote(): Promise<void> {
    const [best] = await rankReplicas();
    if (!best) throw new Error("no replica is left");
    former = primary;
    primary = best;
    const remaining = standbys();
    await waitForOneOf(remaining);
    for (const node of remaining) await connectToPrimary(node);
    await primary.query("SELECT pg_promote(true, 30)");
    await waitUntil("the promoted one takes writes", async () => {
      const [row] = await primary.query("SELECT pg_is_in_recovery() AS yes");
      return row?.["yes"] === false;
    });
  }

  installation.initialize(first.data);
  await first.start();
  await rejoinReplicas();

  return {
    /** Creates an empty database and returns its URLs on all servers, comma-separated, the primary first. */
    async createDatabase() {
      const name = `journal${++databases}`;
      await primary.query(`CREATE DATABASE ${name}`);
      return [primary, ...others()].map((node) => node.url(name)).join(",");
    },
    run: (sql: string) => primary.query(sql),
    setSynchronous,
    signal: (name: NodeJS.Signals) => primary.signal(name),
    /** Stops all replication until a replica is promoted, or the replicas reconnect or rejoin. */
    async cutReplicas() {
      for (const node of standbys()) await applySetting(node, `primary_conninfo = '${NOWHERE}'`);
      await waitUntil("the replicas are cut off", async () => {
        return (await primary.query("SELECT 1 FROM pg_stat_replication")).length === 0;
      });
    },
    /** Stops the replication to one replica. Commits wait for the others. */
    async cutReplica() {
      const [node] = standbys();
      const count = standbys().length;
      if (node) await applySetting(node, `primary_conninfo = '${NOWHERE}'`);
      await waitUntil("one replica is cut off", async () => {
        return (await primary.query("SELECT 1 FROM pg_stat_replication")).length === count - 1;
      });
    },
    /** Ends `cutReplicas` and `cutReplica`, without a failover. */
    async reconnectReplicas() {
      for (const node of standbys()) await connectToPrimary(node);
      await waitForReplicas();
    },
    killPrimary: () => primary.end("SIGKILL"),
    /**
     * Promotes the replica that has received most, and returns when it accepts writes. If no other replica is left, its commits do
     * not wait for one until one rejoins, as with failover tools.
     */
    promote,
    /** Promotes the replica that has received least. All others are lost. */
    async promoteLagging() {
      for (const node of (await rankReplicas()).slice(0, -1)) await node.end("SIGKILL");
      await promote();
    },
    async restartFormerPrimary() {
      if (!former) throw new Error("there was no failover");
      await former.start();
    },
    rejoinReplicas,
    async stop() {
      await Promise.all(nodes.map((node) => node.end("SIGQUIT")));
      installation.remove();
    },
  };
}
