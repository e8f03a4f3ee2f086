// Measures what one action costs the database: statements, commits that wait for the disk, and bytes of WAL.
import { expect, onTestFinished, test } from "vitest";
import { Service } from "../emulator/service.ts";
import { createJobBodyForFile, FILE } from "../emulator/work.ts";
import { createManualClock, emulatorForTest } from "../support/emulator.ts";
import { postgresMissing, queryPostgres, startPostgres } from "../support/postgres.ts";
import { describeUnless } from "../support/unless.ts";
import { connectCaller, createCaller, environmentForTest, instanceForTest } from "./deployment.ts";

const SETTINGS = "fsync=off autovacuum=off shared_preload_libraries=pg_stat_statements checkpoint_timeout=1h".split(
  " ",
);
const ACTIONS = 40;
/** A submission has a second fingerprint, with its index, whose pages split at other times in each run. */
const SUBMISSION_WAL_BYTES = 5_700;

describeUnless(postgresMissing, "the cost of an action", () => {
  async function setUp() {
    const postgres = await startPostgres(SETTINGS);
    onTestFinished(() => postgres.stop());
    const clock = createManualClock();
    const emulator = await emulatorForTest({ clock });
    const place = await environmentForTest(postgres, emulator);
    const client = await connectCaller(await instanceForTest(place), createCaller("ann", ["reds"]));
    const query = (sql: string) => queryPostgres(place.url, sql);
    await query("CREATE EXTENSION pg_stat_statements");
    const { workspaceId: _, ...job } = await createJobBodyForFile(new Service(emulator, clock), FILE.succeeds);
    return { client, job, fileIds: emulator.fileIds, query };
  }

  test("an action takes at most 4 statements and 2 commits and 5 KB of WAL, and a read takes no commit", async () => {
    const { client, job, fileIds, query } = await setUp();
    const measure = async (work: () => Promise<void>) => {
      await query("SELECT pg_stat_statements_reset()");
      const [before] = await query("SELECT pg_current_wal_insert_lsn() AS lsn");
      await work();
      const [row] = await query(
        `SELECT SUM(calls)::int AS statements, 
           -- A SELECT that removes dead rows also writes WAL, but waits for no disk.
           SUM(calls) FILTER (WHERE wal_records > 0 AND query NOT LIKE 'SELECT%')::int AS commits,
           (pg_current_wal_insert_lsn() - '${before?.["lsn"]}')::int AS wal
         FROM pg_stat_statements WHERE dbid = (SELECT oid FROM pg_database WHERE datname = current_database())
           AND query NOT LIKE '%pg_stat_statements%' AND query NOT LIKE '%lsn%' AND query NOT LIKE 'SET %'
           -- An instance does these regularly, for all calls.
           AND query NOT LIKE '%api_cooldowns%' AND query NOT LIKE '%FROM teams%'
           AND query NOT LIKE 'UPDATE actions SET lease_until%' AND query NOT LIKE '%INTO deployment%'`,
      );
      return { statements: Number(row?.["statements"]), commits: Number(row?.["commits"]), wal: Number(row?.["wal"]) };
    };
    const act = async (count: number, tool: string, argumentsAt: (at: number) => Record<string, unknown>) => {
      for (let at = 0; at < count; at++) {
        const { isError, text } = await client.callTool(tool, argumentsAt(at));
        expect(isError, text).toBe(false);
      }
    };
    const registerInputs = (count: number, prefix?: string) =>
      act(count, "register_input", (at) => ({
        inputKind: "M4_FILE",
        referenceId: fileIds[at % fileIds.length],
        ...(prefix !== undefined && { idempotencyKey: `${prefix}-${at}-0123456789` }),
      }));
    const expectCheap = (cost: Awaited<ReturnType<typeof measure>>, count: number, walBytes = 5_120) => {
      // Other regular statements may add to some of them.
      expect(cost.statements / count).toBeLessThan(4.5);
      expect(cost.commits / count).toBeLessThanOrEqual(2);
      expect(cost.wal / count).toBeLessThanOrEqual(walBytes);
    };
    // Fills the pages that a checkpoint makes PostgreSQL write in full.
    await registerInputs(ACTIONS, "warm-up");
    expectCheap(await measure(() => registerInputs(fileIds.length)), fileIds.length);
    expectCheap(await measure(() => registerInputs(ACTIONS, "measured")), ACTIONS);
    const submitJobs = (count: number, year: number) =>
      act(count, "submit_job", (at) => {
        const vintage = new Date(Date.UTC(year, 0, 1 + at)).toISOString().slice(0, 10);
        return { ...job, parameterValues: { ...Object(job.parameterValues), vintage } };
      });
    await submitJobs(ACTIONS, 2020);
    expectCheap(await measure(() => submitJobs(ACTIONS, 2021)), ACTIONS, SUBMISSION_WAL_BYTES);
    const reading = await measure(async () => {
      for (let at = 0; at < ACTIONS; at++) await client.callTool("list_jobs");
    });
    expect(reading.commits).toBe(0);
  });
});
