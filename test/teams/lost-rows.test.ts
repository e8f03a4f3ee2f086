// Tests how an instance detects lost journal rows on a new server: by the rows whose commits were confirmed to it. The test changes the rows as
// a failover to a lagging replica and the writes of other instances would; lagging-replica.test.ts uses real replicas.
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { openJournal, type StoredAction } from "../../src/actions/journal.ts";
import { DEPLOYMENT_TABLES } from "../../src/teams/durability.ts";
import { createConfirmedRows, createLossDetector } from "../../src/teams/lost-rows.ts";
import type { TimeRange } from "../../src/teams/variables.ts";
import { insertAction, SUCCEEDED } from "../actions/samples.ts";
import { databaseForTest, describeWithPostgres } from "./services.ts";

const HOUR_MS = 3_600_000;
/** A request to the API separates an insert from its outcome, and a failover separates a loss from the next insert: their times differ. */
const nextMillisecond = () => sleep(2);
const row = (key: string, updated_at: number, created_at = updated_at): StoredAction => ({
  ...{
    service: "s",
    key,
    upstream_key: "",
    tool: "t",
    arguments: "",
    fingerprint: "",
    bound_fingerprint: null,
    about: "",
    path: "",
    if_match: "",
  },
  ...{ body: "", state: "in_progress", indeterminate: 0, attempts: 0, owner: "one", lease_until: 0, outcome: null },
  ...{
    resource_id: null,
    created_at,
    first_sent_at: 0,
    first_sent_api_at: null,
    updated_at,
    resolved_at: null,
    read_at: 0,
  },
});

test("all concurrent commits are remembered until a write that was sent after their confirmation is confirmed", () => {
  const { onWrite, get } = createConfirmedRows();
  const keys = () => get().map(({ key }) => key);
  const [first, second] = [onWrite(), onWrite()];
  second(row("second", 2));
  const third = onWrite();
  first(row("first", 1));
  expect(keys()).toEqual(["second", "first"]);
  third(row("third", 3));
  expect(keys()).toEqual(["first", "third"]);
  onWrite()(row("outcome of first", 4, 1));
  expect(keys()).toEqual(["first", "third", "outcome of first"]);
  onWrite()(row("outcome of third", 5, 3));
  expect(keys()).toEqual(["first", "third", "outcome of third"]);
  onWrite()(row("fourth", 6));
  expect(keys()).toEqual(["fourth"]);
});

describeWithPostgres("rows that a new server lacks", (postgres) => {
  /** A journal with a row that survives ("before"), and a function that opens it as another instance. */
  async function setUp() {
    const database = await databaseForTest(await postgres().createDatabase(), { connections: 1 });
    const start = async (owner: string) => {
      let found: TimeRange | undefined;
      const { onWrite, onNewServer } = createLossDetector(owner, (range) => {
        found = range;
      });
      const journal = await openJournal(database, { owner, now: Date.now, onWrite });
      const check = async () => {
        await onNewServer(database.query);
        return found;
      };
      return {
        journal,
        check,
        insert: (key: string) => insertAction(journal, { key, fingerprint: key, isExplicit: true }),
      };
    };
    const one = await start("one");
    await database.query(`CREATE TABLE deployment (${DEPLOYMENT_TABLES.deployment})`);
    const before = await one.insert("before");
    // The rows of a journal are rarely as close together as those of this test.
    const age = (key: string, ms: number) =>
      database.query(
        "UPDATE actions SET created_at = created_at - $2, updated_at = updated_at - $2 WHERE key = $1 RETURNING updated_at",
        [key, ms],
      );
    const [{ updated_at: survivedAt } = {}] = await age(before.key, 60_000);
    const lose = (key: string) => database.query("DELETE FROM actions WHERE key = $1", [key]);
    return { database, one, two: await start("two"), lose, age, survivedAt: new Date(Number(survivedAt)) };
  }
  type Place = Awaited<ReturnType<typeof setUp>>;

  const fates: readonly [string, boolean, (place: Place, mine: StoredAction) => Promise<unknown>][] = [
    ["is still there", false, async () => undefined],
    ["is missing", true, ({ lose }) => lose("mine")],
    [
      "is missing, and another instance has inserted its key again",
      true,
      async ({ lose, two }) => {
        await lose("mine");
        await nextMillisecond();
        await two.insert("mine");
      },
    ],
    [
      "is an older version",
      true,
      async ({ one, database }, mine) => {
        await nextMillisecond();
        await one.journal.resolve(mine, SUCCEEDED);
        await database.query("UPDATE actions SET state = 'in_progress', updated_at = created_at WHERE key = 'mine'");
      },
    ],
    [
      "was taken over by another instance on a server whose clock is behind",
      false,
      async ({ two, database }, mine) => {
        expect(await two.journal.claim(mine, true)).toBeDefined();
        await database.query("UPDATE actions SET updated_at = updated_at - 1000 WHERE key = 'mine'");
      },
    ],
    [
      "is missing behind an outcome that another instance has taken over",
      true,
      async ({ one, two, lose, database }, mine) => {
        await one.insert("next");
        await nextMillisecond();
        await one.journal.resolve(mine, SUCCEEDED);
        await lose("next");
        await database.query("UPDATE actions SET state = 'in_progress' WHERE key = 'mine'");
        expect(await two.journal.claim({ ...mine, lease_until: 0 }, true)).toBeDefined();
      },
    ],
  ];
  test.each(fates)("a confirmed row that %s is reported as a loss: %s", async (_what, isLoss, befall) => {
    const place = await setUp();
    const mine = await place.one.insert("mine");
    await befall(place, mine);
    expect((await place.one.check()) !== undefined).toBe(isLoss);
  });

  test("a row that was deleted after the deduplication window is not a loss", async () => {
    const { database, two } = await setUp();
    const { onWrite, onNewServer } = createLossDetector("two", () => expect.unreachable());
    onWrite()(row("pruned", Date.now() - 21 * HOUR_MS));
    await onNewServer(database.query);
    expect(await two.check()).toBeUndefined();
  });

  test("the lost range begins at the newest row that survived, not at rows of the new server; every instance reads the range", async () => {
    const { one, two, lose, survivedAt } = await setUp();
    const mine = await one.insert("mine");
    await lose("mine");
    await two.insert("written on the new server");
    expect(await two.check()).toBeUndefined();
    const range = await one.check();
    expect(range?.from).toEqual(survivedAt);
    expect(range?.to.getTime()).toBeGreaterThanOrEqual(mine.created_at);
    expect(await two.check()).toEqual(range);
    // The lost row is in the range that is stored now.
    expect(await one.check()).toEqual(range);
  });

  test("a second loss within 20 h extends the range, and a later one replaces it", async () => {
    for (const [hours, isExtended] of [
      [1, true],
      [21, false],
    ] as const) {
      const { database, one, lose, survivedAt } = await setUp();
      const former = survivedAt.getTime() - hours * HOUR_MS;
      const stored = [former - HOUR_MS, former];
      await database.query("INSERT INTO deployment VALUES (1, $1, '', $1, $2)", stored);
      await one.insert("mine");
      await lose("mine");
      expect((await one.check())?.from).toEqual(isExtended ? new Date(former - HOUR_MS) : survivedAt);
    }
  });
});
