// Tests the journal on a PostgreSQL server that is frozen, stuck, killed, behind a pooler, or commits asynchronously.

import { connect, createServer } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { stubEnv } from "../api-client/client.ts";
import { createJob, enveloped, job } from "../contract/samples.ts";
import { openForFile } from "../support/for-file.ts";
import { listeningUrl } from "../support/free-port.ts";
import { postgresMissing, startPostgres } from "../support/postgres.ts";
import { startServer } from "../support/server.ts";
import { answer, neverAnswer, type Stub, stubForTest } from "../support/stub.ts";
import { describeUnless, linuxMissing } from "../support/unless.ts";
import { databaseForTest, tlsPostgresForTest } from "../teams/services.ts";

/** Expects that the stub received one action in two requests, and that the resumed action reads the current state of the job. */
function expectSentAgain({ requests }: Stub, key: string): void {
  const jobs = "/sandbox/v1/mic/jobs";
  expect(requests.map(({ method, target, headers }) => [method, target, headers["idempotency-key"]])).toEqual([
    ["POST", jobs, key],
    ["POST", jobs, key],
    ["GET", `${jobs}/${job.id}`, undefined],
  ]);
}

describeUnless(postgresMissing ?? linuxMissing, "PostgreSQL", () => {
  // Commits that do not wait for the disk stay in memory for 10 s.
  const getPostgres = openForFile(
    () => startPostgres(["wal_writer_delay=10000"]),
    (server) => server.stop(),
  );
  const openDatabase = async () => await databaseForTest(await getPostgres().createDatabase());

  async function createBench() {
    const stub = await stubForTest();
    const env = { ...stubEnv(stub), MIC_JOURNAL_URL: await getPostgres().createDatabase() };
    return { stub, serve: () => startServer({ env }) };
  }

  test("an earlier unknown action stays unknown while PostgreSQL is frozen, and the same call works after it resumes", async () => {
    const { stub, serve } = await createBench();
    const server = await serve();
    const call = { ...createJob, idempotencyKey: "key-of-the-agent" };
    stub.expect(answer(503, undefined, { "retry-after": "600" }));
    expect((await server.call("submit_job", call)).error?.sideEffect).toBe("unknown");
    getPostgres().signal("SIGSTOP");
    onTestFinished(() => getPostgres().signal("SIGCONT"));
    const [result, { error: read }] = await Promise.all([
      server.call("submit_job", call),
      server.call("list_actions", {}),
    ]);
    getPostgres().signal("SIGCONT");
    const unusable = {
      kind: "unavailable",
      next: expect.stringMatching(/^(?!.*(folder|MIC_STATE_DIR)).*MIC_JOURNAL_URL/s),
    };
    const { idempotencyKey } = call;
    expect(result.error).toMatchObject({ ...unusable, sideEffect: "unknown", idempotencyKey });
    expect(result.error?.message).toContain("This call sent nothing;");
    expect(result.text).toContain("It is not known whether anything was changed.");
    expect(read).toMatchObject({ ...unusable, sideEffect: "none" });
    stub.expect(answer(202, enveloped(job)), answer(200, enveloped(job)));
    const resumed = await server.call("submit_job", call);
    expect(resumed.action).toMatchObject({ idempotencyKey: call.idempotencyKey });
    expectSentAgain(stub, call.idempotencyKey);
  });

  test("an action is not lost when PostgreSQL, with a role that commits asynchronously, is killed together with the server", async () => {
    await getPostgres().run("ALTER ROLE mic SET synchronous_commit = off");
    onTestFinished(() => getPostgres().run("ALTER ROLE mic RESET synchronous_commit"));
    const { stub, serve } = await createBench();
    const server = await serve();
    stub.respond(() => neverAnswer);
    // The tables are on disk before the kill.
    await server.call("list_actions", {});
    await getPostgres().run("CHECKPOINT");
    server.send("submit_job", createJob, 7);
    await expect.poll(() => stub.requests.length).toBe(1);
    getPostgres().signal("SIGSTOP");
    await server.kill();
    await getPostgres().crash();
    stub.respond(({ method }) => answer(method === "POST" ? 202 : 200, enveloped(job)));
    const result = await (await serve()).call("submit_job", createJob);
    expect(result.error, result.text).toBeUndefined();
    expectSentAgain(stub, String(stub.requests[0]?.headers["idempotency-key"]));
  });

  const readBackendPid = async (query: Awaited<ReturnType<typeof databaseForTest>>["query"]): Promise<number> => {
    const [row] = await query("SELECT pg_backend_pid() AS pid");
    return Number(row?.["pid"]);
  };

  test("a stuck connection is not used again, even if it got stuck during a transaction", async () => {
    const freezeProcess = (pid: number): void => {
      process.kill(pid, "SIGSTOP");
      onTestFinished(() => void process.kill(pid, "SIGCONT"));
    };
    const [idle, busy] = [await openDatabase(), await openDatabase()];
    const idlePid = await readBackendPid(idle.query);
    let busyPid = 0;
    freezeProcess(idlePid);
    const inTransaction = busy.withExclusiveTransaction(async (query) => {
      busyPid = await readBackendPid(query);
      freezeProcess(busyPid);
      await query("SELECT 1");
    });
    // Both wait at the same time until their timeouts expire.
    const results = await Promise.allSettled([idle.query("SELECT 1"), inTransaction]);
    for (const end of results) expect(end).toMatchObject({ status: "rejected", reason: { message: /timeout/ } });
    expect(await readBackendPid(idle.query)).not.toBe(idlePid);
    expect(await readBackendPid(busy.query)).not.toBe(busyPid);
  });

  test("prepared statements still read and write a table after a column was added", async () => {
    const url = await getPostgres().createDatabase();
    const [older, newer] = [await databaseForTest(url), await databaseForTest(url)];
    await older.query("CREATE TABLE t (a INTEGER)");
    const read = () => older.query("SELECT * FROM t WHERE a > $1 ORDER BY a", [0]);
    const write = (a: number) => older.query("INSERT INTO t (a) VALUES ($1) RETURNING *", [a]);
    await write(1);
    await read();
    await newer.query("ALTER TABLE t ADD COLUMN b TEXT NOT NULL DEFAULT 'x'");
    expect(await read()).toEqual([{ a: 1, b: "x" }]);
    expect(await write(2)).toEqual([{ a: 2, b: "x" }]);
    await newer.query("ALTER TABLE t ADD COLUMN c INTEGER");
    expect(await Promise.all([write(3), read(), write(4)])).toHaveLength(3);
    expect(await read()).toHaveLength(4);
  });

  test("transactions with the same name run one after another, and do not wait for those with another name", async () => {
    const url = await getPostgres().createDatabase();
    const [one, two] = [await databaseForTest(url), await databaseForTest(url)];
    const order: string[] = [];
    let other: Promise<void> = Promise.resolve();
    await one.withExclusiveTransaction(async () => {
      other = two.withExclusiveTransaction(async () => void order.push("the same name"), "a");
      await two.withExclusiveTransaction(async () => void order.push("another name"), "b");
      await two.withExclusiveTransaction(async () => void order.push("no name"));
      order.push("the end of the first");
    }, "a");
    await other;
    expect(order).toEqual(["another name", "no name", "the end of the first", "the same name"]);
  });

  test("statements wait for a free connection while all are busy, and no statement waits forever", async () => {
    const database = await openDatabase();
    const many = Array.from({ length: 40 }, (_, n) => database.query("SELECT $1::int AS n, pg_sleep(0.01)", [n]));
    expect((await Promise.all(many)).map(([row]) => row?.["n"])).toEqual(Array.from({ length: 40 }, (_, n) => n));
    const held = [1, 2, 3, 4].map(() => database.query("SELECT pg_sleep(7)"));
    expect(database.waitingCount()).toBe(0);
    await expect(database.query("SELECT 1")).rejects.toThrow("all 4 connections have been busy");
    await Promise.all(held);
    expect(await database.query("SELECT 1 AS one")).toEqual([{ one: 1 }]);
  });

  test("values reach the server unchanged, whatever their type there", async () => {
    const { query } = await openDatabase();
    const sql = "SELECT $1::json->>0 AS json, $2::boolean AS boolean, $3::bigint AS bigint, $4::text AS text";
    const values = ['["a"]', "true", Number.MAX_SAFE_INTEGER, "é🍨"];
    for (const _ of ["described", "prepared"])
      expect(await query(sql, values)).toEqual([
        { json: "a", boolean: true, bigint: Number.MAX_SAFE_INTEGER, text: "é🍨" },
      ]);
  });

  test("a failed transaction is rolled back", async () => {
    const database = await openDatabase();
    const failed = database.withExclusiveTransaction(async (query) => {
      await query("CREATE TABLE half (a INTEGER)");
      throw new Error("on purpose");
    });
    await expect(failed).rejects.toThrow("on purpose");
    await expect(database.query("SELECT * FROM half")).rejects.toThrow("does not exist");
  });

  test("statements work behind a pooler that accepts no options at the start of a connection", async () => {
    const url = await getPostgres().createDatabase();
    const { port, hostname } = new URL(url);
    const parameterNames: string[] = [];
    // Behaves like pgbouncer: rejects unknown parameters, else forwards the connection.
    const pooler = createServer((client) => {
      client.once("data", (startup) => {
        const parts = startup.toString("latin1", 8).split("\0");
        const names = parts.filter((_, index) => index % 2 === 0).filter((name) => name !== "");
        parameterNames.push(...names);
        const strange = names.find((name) => !/^(user|database|application_name|client_encoding)$/.test(name));
        if (strange !== undefined) return void client.end(`unsupported startup parameter: ${strange}`);
        const server = connect(Number(port), hostname);
        server.write(startup);
        client.pipe(server).pipe(client);
        for (const side of [client, server]) side.on("error", () => undefined);
      });
    });
    onTestFinished(() => void pooler.close());
    const { port: poolerPort } = new URL(await listeningUrl(pooler));
    const behind = Object.assign(new URL(url), { port: poolerPort, search: "?sslmode=disable" });
    const database = await databaseForTest(behind.href);
    await getPostgres().run("ALTER ROLE mic SET synchronous_commit = off");
    onTestFinished(() => getPostgres().run("ALTER ROLE mic RESET synchronous_commit"));
    expect(await database.query("SHOW synchronous_commit")).toEqual([{ synchronous_commit: "on" }]);
    expect(await database.query("SHOW statement_timeout")).toEqual([{ statement_timeout: "10s" }]);
    expect(parameterNames).toContain("application_name");
  });

  test("connections are encrypted if the server offers it; the certificate is verified with every sslmode except no-verify", async () => {
    const { server, cert } = await tlsPostgresForTest();
    const url = await server.createDatabase();
    const isEncrypted = async (parameters: string) => {
      const { query } = await databaseForTest(`${url}?${parameters}`);
      return (await query("SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()"))[0]?.["ssl"];
    };
    expect(await isEncrypted("sslmode=disable")).toBe(false);
    expect(await isEncrypted(""), "without a mode").toBe(true);
    for (const mode of ["prefer", "require", "verify-full"])
      await expect(isEncrypted(`sslmode=${mode}`)).rejects.toThrow("self-signed certificate");
    expect(await isEncrypted(`sslmode=verify-full&sslrootcert=${cert}`)).toBe(true);
    expect(await isEncrypted("sslmode=no-verify")).toBe(true);
  });
});
