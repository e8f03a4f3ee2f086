// Tests the audit of a deployment: one row for each end of an action, in the same transaction, without content.
import { expect, test } from "vitest";
import { openJournal, type Resolution } from "../../src/actions/journal.ts";
import { type Auditor, insertAuditEvent, maintainPartitions, pruneAudit } from "../../src/teams/audit/rows.ts";
import { createActionObserver } from "../../src/teams/tenancy/caller-actions.ts";
import { prepareTables } from "../../src/teams/tenancy/teams.ts";
import { insertAction, SUCCEEDED as SUCCESS } from "../actions/samples.ts";
import { databaseForTest, describeWithPostgres } from "./services.ts";

const DAY_MS = 86_400_000;
const SECRET = "what is in the arguments";
const SUCCEEDED: Resolution = { ...SUCCESS, outcome: SECRET };
const TRACE_ID = "4bf92f3577b34da6";
const ann: Auditor = { caller: "'; DROP TABLE audit; --", team: "red", client: "a-client", traceId: () => TRACE_ID };

describeWithPostgres("the audit", (postgres) => {
  async function createBench() {
    const url = await postgres().createDatabase();
    const database = await databaseForTest(url);
    await prepareTables(database);
    const columns = "event, caller, team, client, tool, key, resource_id, outcome, trace_id";
    return {
      database,
      end: createActionObserver(ann, async () => undefined).end(),
      as: (owner: string) => openJournal(database, { owner, now: () => 0 }),
      rows: () => database.query(`SELECT ${columns} FROM audit ORDER BY at`),
    };
  }

  const contents = { arguments: SECRET, body: SECRET, upstreamKey: "mic-upstream" };
  const audited = { key: "a-key-of-ann", isExplicit: true, ...contents };

  test("the audit has a row with the caller for each resolved action, without arguments or results", async () => {
    const { as, rows, database, end } = await createBench();
    const journal = await as("one");
    const action = await insertAction(journal, audited);
    const unknown = { ...SUCCEEDED, state: "unknown", createdId: undefined } as const;
    expect(await journal.resolve(action, unknown, end)).toMatchObject({ state: "unknown" });
    await journal.claim(action, false);
    expect(await journal.resolve(action, SUCCEEDED, end)).toMatchObject({ state: "succeeded", resource_id: "job-1" });
    const { traceId: _, ...who } = ann;
    const row = { event: "action", ...who, tool: "submit_job", key: audited.key, trace_id: TRACE_ID };
    expect(await rows()).toEqual([
      { ...row, resource_id: null, outcome: "unknown" },
      { ...row, resource_id: "job-1", outcome: "succeeded" },
    ]);
    expect(JSON.stringify(await database.query("SELECT * FROM audit"))).not.toMatch(`${SECRET}|mic-upstream`);
  });

  test("the audit has no row for an unresolved action; an action cannot be resolved if its audit row cannot be written", async () => {
    const { as, rows, database, end } = await createBench();
    const [one, two] = [await as("one"), await as("two")];
    const action = await insertAction(one, audited);
    expect(await two.resolve(action, SUCCEEDED, end), "it is another's").toBeUndefined();
    expect(await rows()).toEqual([]);
    await database.query("ALTER TABLE audit RENAME TO elsewhere");
    await expect(one.resolve(action, SUCCEEDED, end)).rejects.toThrow("audit");
    expect(await one.find("service", action.key)).toMatchObject({ state: "in_progress" });
  });

  test("audit rows older than the retention are deleted, 1,000 rows at a time", async () => {
    const { database } = await createBench();
    await database.query(
      `INSERT INTO audit (at, event, caller, team, client, outcome)
         SELECT CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS BIGINT) - CASE WHEN n <= 1500 THEN $1 ELSE 0 END,
           'download', 'a', 'red', 'c', 'opened' FROM generate_series(1, 1600) AS n`,
      [2 * DAY_MS],
    );
    expect(await pruneAudit(database, DAY_MS)).toBe(true);
    expect(await pruneAudit(database, DAY_MS)).toBe(false);
    expect(await database.query("SELECT COUNT(*) AS count FROM audit")).toEqual([{ count: 100 }]);
  });

  test("each day of the audit has a partition, and a partition older than the retention is dropped", async () => {
    const { database } = await createBench();
    const readPartitions = () =>
      database.query("SELECT DISTINCT tableoid::regclass::text AS name FROM audit ORDER BY name");
    const nameOf = (daysAgo: number) =>
      `audit_${new Date(Date.now() - daysAgo * DAY_MS).toISOString().slice(0, 10).replaceAll("-", "")}`;
    for (const daysAgo of [3, 5]) {
      const from = Math.floor(Date.now() / DAY_MS - daysAgo) * DAY_MS;
      await database.query(
        `CREATE TABLE ${nameOf(daysAgo)} PARTITION OF audit FOR VALUES FROM (${from}) TO (${from + DAY_MS})`,
      );
      await database.query(
        "INSERT INTO audit (at, event, caller, team, client, outcome) VALUES ($1, 'download', 'a', 'red', 'c', 'opened')",
        [from + 1],
      );
    }
    await maintainPartitions(database, 3 * DAY_MS);
    await insertAuditEvent(database, ann, { event: "download", outcome: "opened" });
    const kept = [{ name: nameOf(3) }, { name: nameOf(0) }];
    expect(await readPartitions()).toEqual(kept);
    await maintainPartitions(database, 3 * DAY_MS);
    expect(await readPartitions()).toEqual(kept);
  });
});
