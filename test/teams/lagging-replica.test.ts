// Tests a failover of the database with real PostgreSQL servers: if the promoted replica lacks confirmed journal rows, every instance reports
// the missing time range before an agent can trust the journal. If it lacks none, no instance reports anything.
import { afterEach, expect, test } from "vitest";
import { Service } from "../emulator/service.ts";
import { FILE } from "../emulator/work.ts";
import { jobArguments } from "../mcp/tasks/fixtures.ts";
import { createManualClock, emulatorForTest } from "../support/emulator.ts";
import { openForFile } from "../support/for-file.ts";
import { postgresMissing } from "../support/postgres.ts";
import { startPostgresPair } from "../support/postgres-pair.ts";
import { describeUnless, linuxMissing } from "../support/unless.ts";
import { connectCaller, createCaller, environmentForTest, instanceForTest } from "./deployment.ts";

const RANGE = /lacks actions from (\S+) to (\S+)\./;

describeUnless(postgresMissing ?? linuxMissing, "a failover to a replica", () => {
  const getPair = openForFile(
    () => startPostgresPair(2),
    (pair) => pair.stop(),
  );
  afterEach(() => getPair().rejoinReplicas());

  /** Two instances that are ready, and a function that submits one of two jobs through one of them. */
  async function setUp() {
    const clock = createManualClock();
    const place = await environmentForTest(getPair(), await emulatorForTest({ clients: 1, clock }));
    const service = new Service(place.emulator, clock);
    const jobs = [await jobArguments(service, FILE.succeeds), await jobArguments(service, FILE.succeeds)];
    const start = async () => {
      const instance = await instanceForTest(place);
      expect(await instance.databaseCheck()).not.toMatchObject({ status: "failed" });
      return { instance, client: await connectCaller(instance, createCaller("ann", ["reds"])) };
    };
    type Started = Awaited<ReturnType<typeof start>>;
    const submit = ({ client }: Started, number = 0) => client.callTool("submit_job", { ...jobs[number] });
    return { one: await start(), two: await start(), submit, service };
  }

  test("every instance reports a failover to a replica that lacks a confirmed action, from its next answer on and in /readyz", async () => {
    const { one, two, submit, service } = await setUp();
    const before = Date.now();
    expect((await submit(two, 1)).error).toBeUndefined();
    await expect
      .poll(() => getPair().run("SELECT 1 FROM pg_stat_replication WHERE replay_lsn = pg_current_wal_lsn()"))
      .toHaveLength(2);
    await getPair().cutReplica();
    const lost = await submit(one);
    expect(lost.error).toBeUndefined();
    const lostAt = Date.now();
    await getPair().killPrimary();
    await getPair().promoteLagging();
    // The instance that did not record the lost action cannot detect the loss, and gets the first call.
    const repeated = await submit(two);
    expect(repeated.error).toMatchObject({ kind: "conflict", sideEffect: "none" });
    expect(await service.countEffects("createMicJob")).toBe(2);
    expect(repeated.text).toMatch(RANGE);
    const [, from = "", to = ""] = RANGE.exec(repeated.text) ?? [];
    expect(Date.parse(from)).toBeGreaterThanOrEqual(before);
    expect(Date.parse(from)).toBeLessThan(lostAt);
    expect(Date.parse(to)).toBeGreaterThanOrEqual(lostAt);
    for (const { instance, client } of [one, two]) {
      expect((await client.callTool("list_actions")).text).toMatch(RANGE);
      await expect.poll(instance.databaseCheck).toMatchObject({ restoreGap: { from: new Date(from) } });
    }
    expect((await submit(one, 1)).action).toMatchObject({ replayed: true });
  });

  test("a failover to a replica with all confirmed actions causes no warning, and repeated calls return the stored results", async () => {
    const { one, two, submit } = await setUp();
    await getPair().cutReplica();
    const submitted = await submit(one);
    expect(submitted.error).toBeUndefined();
    await getPair().killPrimary();
    await getPair().promote();
    for (const { instance, client } of [two, one]) {
      const repeated = await submit({ instance, client });
      expect(repeated.action).toMatchObject({ replayed: true });
      expect((await client.callTool("list_actions")).text).not.toMatch(RANGE);
      await expect.poll(instance.databaseCheck).not.toMatchObject({ status: "failed" });
      expect(await instance.databaseCheck()).not.toHaveProperty("restoreGap");
    }
    expect((await submit(one, 1)).text).not.toMatch(RANGE);
  });
});
