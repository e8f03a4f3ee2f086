// Tests a resource's history in the journal, on both databases: the actions about it and the one that created it.
import { expect, test } from "vitest";
import { stringifyOutcome } from "../../src/actions/action-row.ts";
import { parseCanonicalArguments } from "../../src/actions/fingerprint.ts";
import { type Journal, type NewAction, openJournal, type Resolution } from "../../src/actions/journal.ts";
import { listActions } from "../../src/actions/listing.ts";
import type { Database, SqlValue } from "../../src/store/database.ts";
import { describeEachDriver, openDatabaseForTest } from "./drivers.ts";
import {
  copyAction,
  createTestActions,
  insertAction,
  type JournalLocation,
  newAction,
  SUCCEEDED,
  UNKNOWN,
} from "./samples.ts";

const LATER = 5_000;

/** Opens the journal with a clock that advances by 1 s on each read, and records the queries to its database. */
async function openRecordedJournal(location: JournalLocation) {
  const database = await openDatabaseForTest(location);
  const queries: { sql: string; values: readonly SqlValue[] }[] = [];
  const recordingDatabase: Database = {
    ...database,
    query(sql, values = []) {
      queries.push({ sql, values });
      return database.query(sql, values);
    },
  };
  let nowMs = 1_800_000_000_000;
  const now = () => (nowMs += 1_000);
  const journal = await openJournal(recordingDatabase, { owner: "one", now });
  return { database, journal, asked: queries };
}

const successWith = (createdId: string): Resolution => ({ ...SUCCEEDED, createdId });
const refusalAs = (state: Resolution["state"]): Resolution => ({
  ...{ ...UNKNOWN, state },
  outcome: '{"failure":{"kind":"conflict","message":"no","retryable":false,"sideEffect":"unknown"}}',
});

const insertResolved = async (journal: Journal, facts: Partial<NewAction>, resolution: Resolution) =>
  await journal.resolve(await insertAction(journal, { fingerprint: String(facts.key), ...facts }), resolution);

describeEachDriver((createLocation) => {
  test("the actions about a job are listed as unresolved, succeeded, then rejected, each latest first", async () => {
    const { journal } = await openRecordedJournal(await createLocation());
    const about = { targetId: "job-1", arguments: '{"jobId":"job-1"}', tool: "retry_job" };
    await insertResolved(journal, { ...about, key: "unknown" }, refusalAs("unknown"));
    await insertResolved(journal, { ...about, key: "first" }, successWith("job-2"));
    await insertResolved(journal, { ...about, key: "second" }, successWith("job-3"));
    await insertResolved(journal, { ...about, key: "refused" }, refusalAs("rejected"));
    await insertResolved(journal, { ...about, key: "other job", targetId: "job-10" }, successWith("job-11"));
    await insertResolved(journal, { ...about, key: "other service", service: "another" }, successWith("job-12"));
    await insertResolved(journal, { key: "a submission" }, successWith("job-1"));
    const { actions: found, creationArguments } = await createTestActions(journal).readHistory("job-1");
    expect(found.map(({ idempotencyKey }) => idempotencyKey)).toEqual(["unknown", "second", "first", "refused"]);
    const unknown = { tool: "retry_job", state: "unknown", arguments: { jobId: "job-1" }, isRefused: true };
    expect(found[0]).toMatchObject(unknown);
    expect(found[1]).toMatchObject({ createdId: "job-3", isRefused: false });
    expect(creationArguments).toEqual(parseCanonicalArguments(newAction().arguments));
    expect(await createTestActions(journal).readHistory("job-2")).toEqual({
      actions: [],
      creationArguments: { jobId: "job-1" },
    });
    const another = createTestActions(journal, "another");
    expect((await another.readHistory("job-1")).creationArguments).toBeUndefined();
  });

  test("an action whose resource was only found by reading is not the one that created it", async () => {
    const { journal } = await openRecordedJournal(await createLocation());
    const outcome = stringifyOutcome({ finding: "Job job-1 was retried as job job-2.", value: {}, drift: [] });
    await insertResolved(journal, { key: "found" }, { ...successWith("job-2"), outcome });
    const actions = createTestActions(journal);
    expect((await actions.readHistory("job-2")).creationArguments).toBeUndefined();
    expect(await actions.findManyCreationArguments(["job-2"])).toEqual(new Map());
  });

  test("each query is answered by an index, not by a scan of all actions of the service", async () => {
    const location = await createLocation();
    const isPostgres = location.url !== undefined;
    const { database, journal, asked } = await openRecordedJournal(location);
    await insertResolved(journal, { key: "fill-", tool: "retry_job" }, successWith("made-"));
    const changes = { resource_id: "resource_id || n.i", about: "'about-' || n.i", created_at: "created_at + n.i" };
    await copyAction(database, "fill-", LATER, changes);
    // SQLite has no statistics of the table contents here; PostgreSQL collects them.
    if (isPostgres) await database.query("ANALYZE");
    const { readHistory, listUnresolved } = createTestActions(journal);
    const filled = { tool: "retry_job", fingerprint: "fill-7", boundFingerprint: "bound-7" };
    const identical = "actions_(?:by_fingerprint|slot)";
    const cases: readonly (readonly [indexes: readonly string[], runQuery: () => Promise<unknown>])[] = [
      [["actions_about", "actions_made"], () => readHistory("about-7")],
      [[identical, "actions_bound"], () => journal.findLatest("service", filled.tool, filled)],
      [
        [isPostgres ? "actions_unresolved" : identical, "actions_pkey|actions_1"],
        () => journal.findNamedOrUnresolved("service", filled.tool, filled, "fill-7"),
      ],
      [["actions_made"], () => journal.findReferences("service", ["made-7", "made-8"])],
      [[identical, "actions_bound"], () => journal.insert(newAction({ ...filled, fingerprint: "new" }))],
      [["actions_by_state"], () => listActions(journal, { service: "service", state: undefined, limit: 20 })],
      [["actions_by_time"], () => listActions(journal, { service: undefined, state: "succeeded", limit: 20 })],
      [["actions_(?:unresolved|by_state)"], listUnresolved],
      [["actions_unresolved"], () => journal.countUnresolved()],
      [["actions_unresolved"], () => journal.heartbeat()],
    ];
    const explain = isPostgres ? "EXPLAIN" : "EXPLAIN QUERY PLAN";
    for (const [indexes, runQuery] of cases) {
      asked.length = 0;
      await runQuery();
      // Counting reads all rows.
      const found = asked.filter(({ sql }) => !sql.includes("GROUP BY state"));
      const plans = await Promise.all(found.map(({ sql, values }) => database.query(`${explain} ${sql}`, values)));
      const text = JSON.stringify(plans);
      for (const index of indexes) expect(text).toMatch(new RegExp(index));
      expect(text).not.toMatch(/Seq Scan on actions|SCAN actions"|\(service=\?( AND tool=\?)?\)/);
    }
  });
});
