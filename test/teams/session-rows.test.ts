// What instances keep of sessions, on both databases.
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from "vitest";
import { openPostgres } from "../../src/actions/postgres.ts";
import { openSqlite } from "../../src/actions/sqlite.ts";
import { createSessionRows } from "../../src/teams/session-rows.ts";
import { folderForTest } from "../support/home.ts";
import { type PostgresServer, postgresMissing, startPostgres } from "../support/postgres.ts";
import { rowsOn } from "./sessions/rows.ts";

let server: PostgresServer | undefined;
beforeAll(async () => {
  if (postgresMissing === undefined) server = await startPostgres();
});
afterAll(() => server?.stop());

const skipped = postgresMissing === undefined ? "" : ` (skipped: ${postgresMissing})`;
const databases = [
  ["SQLite", false, async () => await openSqlite(await folderForTest())],
  [
    `PostgreSQL${skipped}`,
    postgresMissing !== undefined,
    async () => await openPostgres((await server?.database()) ?? ""),
  ],
] as const;

const later = () => ({ until: Date.now() + 60_000, max: 3 });

describe.each(databases)("%s", (_, isMissing, open) => {
  test.skipIf(isMissing)("a session subscribes to so many resources, and to each of them again", async () => {
    const rows = await rowsOn(await open());
    for (const uri of ["a", "b", "c", "b"])
      expect(await rows.subscribe("one", { uri, version: 1 }, later())).toBe(true);
    expect(await rows.subscribe("one", { uri: "d", version: 1 }, later())).toBe(false);
    expect(await rows.subscribe("two", { uri: "d", version: null }, later())).toBe(true);
    await rows.unsubscribe("one", "a");
    expect(await rows.subscribe("one", { uri: "d", version: 4_000_000_000 }, later())).toBe(true);
    await rows.told("one", { uri: "b", version: 2 });
    await rows.told("one", { uri: "never", version: 2 });
    expect(await rows.subscriptions("one")).toEqual([
      { uri: "b", version: 2 },
      { uri: "c", version: 1 },
      { uri: "d", version: 4_000_000_000 },
    ]);
    expect(await rows.subscriptions("two")).toEqual([{ uri: "d", version: null }]);
    await rows.end("one");
    expect(await rows.subscriptions("one")).toEqual([]);
    expect(await rows.subscriptions("two")).toHaveLength(1);
  });

  test.skipIf(isMissing)("what a session listens to is its team's", async () => {
    const database = await open();
    const rows = await rowsOn(database);
    await rows.subscribe("one", { uri: "a", version: 1 }, later());
    expect(await createSessionRows(database, "another").subscriptions("one")).toEqual([]);
  });

  test.skipIf(isMissing)("an answer is taken once, by who asked; the first one counts", async () => {
    const rows = await rowsOn(await open());
    const { until } = later();
    const first = JSON.stringify({ first: "\u0000 ünïcode" });
    for (const question of ["q-1", "q-2", "q-3"]) await rows.ask("one", question, until);
    expect(await rows.takeAnswer("one", "q-1")).toBeUndefined();
    expect(await rows.answer("two", "q-1", "{}")).toBe(false);
    expect(await rows.answer("one", "q-1", first)).toBe(true);
    expect(await rows.answer("one", "q-1", "{}")).toBe(false);
    await rows.withdraw("one", "q-2");
    expect(await rows.answer("one", "q-2", "{}")).toBe(false);
    const taken = await Promise.all([1, 2, 3].map(() => rows.takeAnswer("one", "q-1")));
    expect(taken.filter((each) => each !== undefined)).toEqual([first]);
    await rows.end("one");
    expect(await rows.answer("one", "q-3", "{}")).toBe(false);
  });

  test.skipIf(isMissing)("what is too old is nothing, and goes", async () => {
    const database = await open();
    const rows = await rowsOn(database);
    await rows.subscribe("one", { uri: "a", version: 1 }, later());
    await rows.ask("one", "q-1", later().until);
    vi.useFakeTimers({ toFake: ["Date"] });
    onTestFinished(() => void vi.useRealTimers());
    vi.setSystemTime(Date.now() + 120_000);
    expect(await rows.subscriptions("one")).toEqual([]);
    await rows.subscribe("two", { uri: "a", version: 1 }, later());
    expect(await rows.answer("one", "q-1", "{}")).toBe(false);
    await rows.ask("two", "q-1", later().until);
    expect(await database.query("SELECT session FROM subscriptions")).toEqual([{ session: "two" }]);
    expect(await database.query("SELECT session FROM session_questions")).toEqual([{ session: "two" }]);
  });
});
