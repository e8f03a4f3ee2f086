// Tests that commits which wait for a missing replica do not take the connections of PostgreSQL, and that they are reported as what they are.
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, onTestFinished, test } from "vitest";
import { connectToPrimary } from "../../src/teams/database.ts";
import { openForFile } from "../support/for-file.ts";
import { postgresBin, postgresMissing } from "../support/postgres.ts";
import { startPostgresPair } from "../support/postgres-pair.ts";
import { launchProcess } from "../support/process.ts";
import { folderForTest } from "../support/temporary-folder.ts";
import { describeUnless, linuxMissing } from "../support/unless.ts";

const POOL = 4;
/** The connections of the checks, one that reads the waits, and one that searches for the primary. */
const OTHERS = 4;

describeUnless(postgresMissing ?? linuxMissing, "commits that wait for a replica", () => {
  const getPair = openForFile(startPostgresPair, (pair) => pair.stop());

  function connect(urls: readonly string[]) {
    const deployment = connectToPrimary({ urls, pool: POOL, durability: "synchronous" });
    onTestFinished(() => deployment.close());
    return deployment;
  }

  test("a backup that receives the WAL is no replica, and its ever longer delay is not reported", async () => {
    const [url = ""] = (await getPair().createDatabase()).split(",");
    const deployment = connect([url]);
    const { port, username } = new URL(url);
    const connection = ["--host=127.0.0.1", `--port=${port}`, `--username=${username}`];
    const backup = launchProcess(
      [
        ...[join(postgresBin ?? "", "pg_receivewal"), "--directory", await folderForTest(), "--status-interval=1"],
        ...connection,
      ],
      {},
    );
    onTestFinished(() => backup.kill());
    const { query } = await deployment.open();
    await query("CREATE TABLE written (a INTEGER)");
    const readDelay = async () => {
      await query("INSERT INTO written VALUES (1)");
      const sql =
        "SELECT EXTRACT(EPOCH FROM replay_lag) AS delay FROM pg_stat_replication WHERE application_name = 'pg_receivewal'";
      return Number((await getPair().run(sql))[0]?.["delay"]);
    };
    await expect.poll(readDelay, { interval: 500 }).toBeGreaterThan(2);
    const { replicas, lag } = await deployment.readFigures();
    expect(replicas).toBe(1);
    expect(lag).toBeLessThan(2);
  });

  test("an instance keeps to its number of connections, reads work, and further writes are refused at once", async () => {
    const deployment = connect((await getPair().createDatabase()).split(","));
    const { query } = await deployment.open();
    const findProblem = deployment.findDurabilityProblem;
    await query("CREATE TABLE t (a INTEGER)");
    expect(await findProblem()).toBeUndefined();
    expect(await deployment.readFigures()).toMatchObject({ replicas: 1 });
    await getPair().cutReplicas();
    expect(await deployment.readFigures()).toMatchObject({ replicas: 0 });
    onTestFinished(() => getPair().reconnectReplicas());
    const outcomes: string[] = [];
    const write = () =>
      query("INSERT INTO t VALUES (1)").then(
        () => void outcomes.push("done"),
        (error: unknown) => void outcomes.push(String(error)),
      );
    // Each statement exceeds its time limit of 10 s.
    const writes: Promise<void>[] = [];
    for (let seconds = 0; seconds < 24; seconds += 2) {
      writes.push(write(), write());
      await sleep(2_000);
    }
    const [row] = await getPair().run(
      "SELECT COUNT(*) AS count FROM pg_stat_activity WHERE usename = 'mic' AND application_name = 'mic-mcp'",
    );
    expect(Number(row?.["count"])).toBeLessThanOrEqual(POOL + OTHERS);
    const startedAt = performance.now();
    expect(await query("SELECT 1 AS one")).toEqual([{ one: 1 }]);
    expect(await findProblem()).toMatchObject({
      isBlocked: true,
      error: expect.stringContaining("All writes are blocked"),
    });
    await expect(query("INSERT INTO t VALUES (2)")).rejects.toMatchObject({
      facts: { kind: "unavailable", sideEffect: "none" },
      message: expect.stringContaining("all writes are blocked"),
    });
    expect(performance.now() - startedAt).toBeLessThan(2_000);
    await getPair().reconnectReplicas();
    await Promise.all(writes);
    await expect.poll(findProblem).toBeUndefined();
    expect(await query("INSERT INTO t VALUES (3) RETURNING a")).toEqual([{ a: 3 }]);
    expect(outcomes.length).toBe(writes.length);
  });

  test("a server that accepts no more connections is not reported as a missing primary", async () => {
    const [url = ""] = (await getPair().createDatabase()).split(",");
    const name = new URL(url).pathname.slice(1);
    await getPair().run("DO 'BEGIN CREATE ROLE plain LOGIN; EXCEPTION WHEN duplicate_object THEN END'");
    await getPair().run(`ALTER DATABASE ${name} CONNECTION LIMIT 0`);
    const { findDurabilityProblem } = connect([Object.assign(new URL(url), { username: "plain" }).href]);
    const { error } = (await findDurabilityProblem()) ?? {};
    expect(error).toContain("it accepts no more connections");
    expect(error).not.toContain("no server takes writes");
  });
});
