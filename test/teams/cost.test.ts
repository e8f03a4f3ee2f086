// Measures what one action costs the database: statements, commits that wait for the disk, and bytes of WAL.
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { emulatorForTest } from "../support/emulator.ts";
import { type PostgresServer, postgresMissing, queryPostgres, startPostgres } from "../support/postgres.ts";
import { addTeam, connectCaller, createCaller, createKeyLine, instanceForTest } from "./deployment.ts";

const SETTINGS = [
  "fsync=off",
  "autovacuum=off",
  "shared_preload_libraries=pg_stat_statements",
  "checkpoint_timeout=1h",
];
const ACTIONS = 40;

describe.skipIf(postgresMissing !== undefined)("the cost of an action", () => {
  let postgres: PostgresServer | undefined;
  beforeAll(async () => {
    postgres = await startPostgres(SETTINGS);
  }, 60_000);
  afterAll(() => postgres?.stop());

  async function setUp() {
    if (!postgres) throw new Error("PostgreSQL runs only during tests");
    const url = await postgres.createDatabase();
    const place = { url, keys: createKeyLine("one"), emulator: await emulatorForTest() };
    await addTeam(place, { name: "red", client: 0, claim: "reds" });
    const client = await connectCaller(await instanceForTest(place), createCaller("ann", ["reds"]));
    await queryPostgres(url, "CREATE EXTENSION pg_stat_statements");
    return { client, fileIds: place.emulator.fileIds, query: (sql: string) => queryPostgres(url, sql) };
  }

  test("an action takes at most 4 statements, 2 commits and 4 KB of WAL, and a read takes no commit", async () => {
    const { client, fileIds, query } = await setUp();
    const measure = async (work: () => Promise<void>) => {
      await query("SELECT pg_stat_statements_reset()");
      const [before] = await query("SELECT pg_current_wal_insert_lsn() AS lsn");
      await work();
      const [row] = await query(
        `SELECT SUM(calls)::int AS statements, SUM(calls) FILTER (WHERE wal_records > 0)::int AS commits,
           (pg_current_wal_insert_lsn() - '${before?.["lsn"]}')::int AS wal
         FROM pg_stat_statements WHERE dbid = (SELECT oid FROM pg_database WHERE datname = current_database())
           AND query NOT LIKE '%pg_stat_statements%' AND query NOT LIKE '%lsn%' AND query NOT LIKE 'SET %'`,
      );
      return {
        statements: Number(row?.["statements"]),
        commits: Number(row?.["commits"] ?? 0),
        wal: Number(row?.["wal"]),
      };
    };
    const act = async (count: number, prefix?: string) => {
      for (let at = 0; at < count; at++) {
        const { isError, text } = await client.callTool("register_input", {
          inputKind: "M4_FILE",
          referenceId: fileIds[at % fileIds.length],
          ...(prefix !== undefined && { idempotencyKey: `${prefix}-${at}-0123456789` }),
        });
        expect(isError, text).toBe(false);
      }
    };
    const expectCheap = ({ statements, commits, wal }: Awaited<ReturnType<typeof measure>>, count: number) => {
      expect(statements / count).toBeLessThanOrEqual(4);
      expect(commits / count).toBeLessThanOrEqual(2);
      expect(wal / count).toBeLessThanOrEqual(4_096);
    };
    // Fills the pages that a checkpoint makes PostgreSQL write in full.
    await act(ACTIONS, "warm-up");
    expectCheap(await measure(() => act(fileIds.length)), fileIds.length);
    expectCheap(await measure(() => act(ACTIONS, "measured")), ACTIONS);
    const reading = await measure(async () => {
      for (let at = 0; at < ACTIONS; at++) await client.callTool("list_jobs");
    });
    expect(reading.commits).toBe(0);
  });
});
