// Tests the scripts with which the compose file creates a primary and its replica: commits wait until the replica has them, encrypted.
import { execFileSync, spawn } from "node:child_process";
import { chmodSync, chownSync, copyFileSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished } from "vitest";
import { freePort } from "../support/free-port.ts";
import { postgresBin, postgresMissing, postgresUser, queryPostgres } from "../support/postgres.ts";
import { waitForExit } from "../support/process.ts";
import { testUnless } from "../support/unless.ts";

/** Creates a folder that belongs to the user of PostgreSQL, and runs programs as that user. */
function setUp() {
  const folder = mkdtempSync(join(tmpdir(), "mic-mcp-compose-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const identity = postgresUser === undefined ? {} : { uid: postgresUser };
  if (postgresUser !== undefined) chownSync(folder, postgresUser, -1);
  chmodSync(folder, 0o755);
  const env = (more: Readonly<Record<string, string>>) => ({
    PATH: `${postgresBin}:${process.env["PATH"]}`,
    REPLICATION_PASSWORD_FILE: join(folder, "replication-password"),
    ...more,
  });
  writeFileSync(join(folder, "replication-password"), "a password, of a kind\n", { mode: 0o644 });
  for (const script of ["primary.sh", "replica.sh"]) {
    copyFileSync(join("deploy", "compose", script), join(folder, script));
    chmodSync(join(folder, script), 0o755);
  }
  const start = (command: readonly string[], more: Readonly<Record<string, string>>) => {
    const [program = "", ...args] = command;
    const child = spawn(program, args, { ...identity, cwd: folder, env: env(more), stdio: "ignore" });
    onTestFinished(async () => {
      child.kill("SIGQUIT");
      await waitForExit(child);
    });
    return child;
  };
  return {
    folder,
    start,
    run: ([program = "", ...args]: readonly string[], more: Readonly<Record<string, string>> = {}) =>
      execFileSync(program, args, { ...identity, cwd: folder, env: env(more), stdio: "pipe" }),
  };
}

const queryPort = (port: number, sql: string) => queryPostgres(`postgres://mic@127.0.0.1:${port}/postgres`, sql);

const waitForRows = (port: number, sql: string, rows: readonly object[]) =>
  expect.poll(() => queryPort(port, sql).catch(() => undefined)).toEqual(rows);
const waitUntilReady = (port: number) => waitForRows(port, "SELECT 1 AS one", [{ one: 1 }]);

testUnless(postgresMissing, "a commit on the composed primary waits for the replica", async () => {
  const { folder, start, run } = setUp();
  const [port, replicaPort] = [await freePort(), await freePort()];
  const data = join(folder, "primary");
  run(["initdb", "-D", data, "-U", "mic", "-A", "trust", "--no-sync"]);
  const server = ["postgres", "-D", data, "-p", String(port), "-k", "", "-h", "127.0.0.1"];
  // Like the image: the first start only runs the scripts.
  const first = start(server, {});
  await waitUntilReady(port);
  const connection = { PGHOST: "127.0.0.1", PGPORT: String(port), POSTGRES_USER: "mic", POSTGRES_DB: "postgres" };
  run(["sh", "primary.sh"], { PGDATA: data, ...connection });
  first.kill("SIGINT");
  await waitForExit(first);
  start(server, {});
  await waitUntilReady(port);
  start(["sh", "replica.sh", "-p", String(replicaPort), "-k", "", "-h", "127.0.0.1"], {
    PGDATA: join(folder, "replica"),
    PGPASSFILE: join(folder, "pgpass"),
    PRIMARY: "127.0.0.1",
    PRIMARY_PORT: String(port),
  });
  const state = { application_name: "replica", sync_state: "sync", ssl: true };
  const sql = "SELECT application_name, sync_state, ssl FROM pg_stat_replication JOIN pg_stat_ssl USING (pid)";
  await waitForRows(port, sql, [state]);
  await queryPort(port, "CREATE TABLE replicated (what TEXT)");
  await waitForRows(replicaPort, "SELECT count(*)::int AS n FROM replicated", [{ n: 0 }]);
});
