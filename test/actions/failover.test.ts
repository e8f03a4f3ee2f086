import { beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { type Journal, openJournal } from "../../src/actions/journal.ts";
import { Failure, toReport } from "../../src/core/failure.ts";
import { connectToPrimary } from "../../src/teams/database.ts";
import { openForFile } from "../support/for-file.ts";
import { postgresMissing } from "../support/postgres.ts";
import { startPostgresPair } from "../support/postgres-pair.ts";
import { describeUnless, linuxMissing } from "../support/unless.ts";
import { databaseForTest } from "../teams/services.ts";
import { newAction } from "./samples.ts";

const openForTest = (urls: string) => databaseForTest(urls, { connections: 8, failover: true });

const openTestJournal = async (urls: string, owner = "one"): Promise<Journal> =>
  await openJournal(await openForTest(urls), { owner, now: () => Date.now() });

const toFailureReport = (error: unknown) => (error instanceof Failure ? toReport(error.facts) : error);

const createAction = (key: string) => newAction({ key, fingerprint: key });

describeUnless(postgresMissing ?? linuxMissing, "a failover", () => {
  const getPair = openForFile(startPostgresPair, (pair) => pair.stop());

  test("a former primary that returns receives no statements, neither from processes that used the new primary nor from others", async () => {
    const urls = await getPair().createDatabase();
    const seen = await openTestJournal(urls);
    await seen.insert(createAction("before"));
    await getPair().killPrimary();
    await getPair().promote();
    await seen.insert(createAction("after"));
    await getPair().restartFormerPrimary();
    const fresh = await openTestJournal(urls, "two");
    for (const [name, journal] of [
      ["seen", seen],
      ["fresh", fresh],
    ] as const) {
      expect(await journal.insert(createAction(`late ${name}`))).toBeDefined();
      expect(await journal.find("service", "after")).toMatchObject({ key: "after" });
    }
    // A process that has seen the new primary does not use the former one even if it is the only server that responds.
    await getPair().run("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'mic-mcp'");
    getPair().signal("SIGSTOP");
    onTestFinished(() => getPair().signal("SIGCONT"));
    await expect(seen.insert(createAction("while it is silent"))).rejects.toThrow(
      "it was the primary before a failover",
    );
    getPair().signal("SIGCONT");
    expect(await seen.find("service", "while it is silent")).toBeUndefined();
    await getPair().rejoinReplicas();
  });

  test("a primary that became a standby rejects a write, which then runs at the new primary", async () => {
    const urls = await getPair().createDatabase();
    const database = await openForTest(urls);
    await database.query("CREATE TABLE t (a INTEGER)");
    // Simulates a server that has become a standby, for the first connection only.
    await database.query("SET default_transaction_read_only = on");
    await database.query("INSERT INTO t VALUES ($1)", [1]);
    expect(await database.query("SELECT a FROM t")).toEqual([{ a: 1 }]);
  });

  test("a call fails within its time limit while there is no primary, and succeeds once there is one", async () => {
    const database = await openForTest(await getPair().createDatabase());
    await database.query("SELECT 1");
    await getPair().killPrimary();
    await expect(database.query("SELECT $1::int AS a", [1])).rejects.toThrow(/no server takes writes \(.*standby/);
    await getPair().promote();
    expect(await database.query("SELECT $1::int AS a", [1])).toEqual([{ a: 1 }]);
    await getPair().rejoinReplicas();
  });

  test("each new server is checked once, before any other statement runs there, and again if the check fails", async () => {
    const events: string[] = [];
    let checks = 0;
    const database = await databaseForTest(await getPair().createDatabase(), {
      ...{ connections: 8, failover: true },
      async onNewServer(query) {
        events.push("check");
        await query("SELECT pg_sleep(0.2)");
        events.push("checked");
        if (++checks === 1) throw new Error("the check failed");
      },
    });
    const select = async () => {
      await database.query("SELECT 1");
      events.push("statement");
    };
    await expect(select()).rejects.toThrow("the check failed");
    const served = ["check", "checked", "statement", "statement", "statement"];
    await Promise.all([select(), select(), select()]);
    expect(events.splice(0)).toEqual(["check", "checked", ...served]);
    await getPair().killPrimary();
    await getPair().promote();
    await Promise.all([select(), select(), select()]);
    expect(events).toEqual(served);
    await getPair().rejoinReplicas();
  });

  describe("durability", () => {
    let urls: readonly string[];
    beforeEach(async () => {
      await getPair().setSynchronous(true);
      urls = (await getPair().createDatabase()).split(",");
    });
    const connect = (durability: "synchronous" | "local", at = urls) => {
      const deployment = connectToPrimary({ urls: at, pool: 16, durability });
      onTestFinished(() => deployment.close());
      return deployment;
    };
    const checkDurability = (durability: "synchronous" | "local") => connect(durability).findDurabilityProblem();
    const waitForStandbysOfNoName = async () => {
      await getPair().run("ALTER SYSTEM SET synchronous_standby_names = 'ANY 1 (x, y)'");
      await getPair().run("SELECT pg_reload_conf()");
    };

    test("commits that wait for a replica are durable; a replica that no commit waits for is refused with any setting", async () => {
      expect(await checkDurability("synchronous")).toBeUndefined();
      await getPair().setSynchronous(false);
      expect(await checkDurability("synchronous")).toMatchObject({
        error: expect.stringContaining("synchronous_standby_names is empty"),
        next: expect.stringContaining("ANY 1 (a, b)"),
      });
      expect(await checkDurability("local")).toMatchObject({
        error: expect.stringContaining("commits do not wait for them"),
      });
    });

    test("missing replicas block every write; a server without replicas is durable only with the setting local", async () => {
      await getPair().cutReplicas();
      expect(await checkDurability("synchronous")).toMatchObject({
        error: expect.stringContaining("All writes are blocked"),
      });
      await getPair().setSynchronous(false);
      expect(await checkDurability("local")).toBeUndefined();
      expect(await checkDurability("synchronous")).toMatchObject({
        next: expect.stringContaining("MIC_DATABASE_DURABILITY=local"),
      });
      await getPair().reconnectReplicas();
    });

    test("an error names the connected replicas if synchronous_standby_names names none of them", async () => {
      await waitForStandbysOfNoName();
      const { findDurabilityProblem: findProblem } = connect("synchronous");
      await expect.poll(findProblem).toMatchObject({
        error: expect.stringMatching(/All writes are blocked: .*ANY 1 \(x, y\).*Connected: [ab]$/),
      });
    });

    test("a role that may not read replication statistics detects a blocked commit by its own waiting statement", async () => {
      const [url = ""] = urls;
      await getPair().run("DO 'BEGIN CREATE ROLE plain LOGIN; EXCEPTION WHEN duplicate_object THEN END'");
      await getPair().run(`GRANT ALL ON DATABASE ${new URL(url).pathname.slice(1)} TO plain`);
      const plainUrl = Object.assign(new URL(url), { username: "plain" }).href;
      const { findDurabilityProblem: findProblem } = connect("synchronous", [plainUrl]);
      expect(await findProblem()).toBeUndefined();
      await waitForStandbysOfNoName();
      const database = await databaseForTest(plainUrl);
      database.query("CREATE SCHEMA blocked").catch(() => undefined);
      await expect.poll(findProblem).toBeDefined();
      await getPair().setSynchronous(true);
      await expect.poll(findProblem).toBeUndefined();
    });

    test("the durability check of an unreachable database returns an error, and does not throw one", async () => {
      const deployment = connect("local", ["postgres://mic@127.0.0.1:1/none"]);
      const database = await deployment.open();
      const next = expect.stringContaining("MIC_DATABASE_URL");
      const unusable = { error: expect.stringContaining("cannot be used"), next };
      // Both wait until their time limit.
      await Promise.all([
        expect(deployment.findDurabilityProblem()).resolves.toMatchObject(unusable),
        expect(database.query("SELECT 1").catch(toFailureReport)).resolves.toMatchObject({ kind: "unavailable", next }),
      ]);
    });
  });
});
