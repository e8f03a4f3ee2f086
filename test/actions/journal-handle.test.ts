// Tests opening the journal: old actions are deleted in batches, and tables are migrated only if the options allow it.
import { beforeEach, expect, onTestFinished, test, vi } from "vitest";
import { createJournalHandle, type JournalOptions } from "../../src/actions/journal-handle.ts";
import { Failure, toReport } from "../../src/core/failure.ts";
import type { Database } from "../../src/store/database.ts";
import { openSqlite } from "../../src/store/sqlite.ts";
import { folderForTest } from "../support/temporary-folder.ts";
import { copyAction, insertAction, newAction, SUCCEEDED } from "./samples.ts";

const DAY_MS = 86_400_000;
const NOW = 1_800_000_000_000;

let stateDir: string;
beforeEach(async () => {
  stateDir = await folderForTest();
});

function createHandle(changes: Partial<JournalOptions> = {}) {
  const common = { stateDir, url: undefined, retentionMs: 30 * DAY_MS, now: () => NOW, owner: "one" };
  const handle = createJournalHandle({ ...common, ...changes });
  // The test may have closed it.
  onTestFinished(() => handle.close().catch(() => undefined));
  return handle;
}

async function openDatabase(): Promise<Database> {
  const database = await openSqlite(stateDir);
  onTestFinished(() => database.close());
  return database;
}

/** Makes actions with a journal whose clock is some days behind. */
async function insertOldActions(database: Database, count: number, days: number): Promise<void> {
  const handle = createHandle({ now: () => NOW - days * DAY_MS });
  const journal = await handle.open();
  const key = `old-${days}-`;
  await journal.resolve(await insertAction(journal, { key, fingerprint: key }), SUCCEEDED);
  await copyAction(database, key, count - 1);
  await handle.close();
}

const countActions = async (database: Database) =>
  Number((await database.query("SELECT COUNT(*) AS n FROM actions"))[0]?.["n"]);

test("1,000 old actions are deleted at once and the others soon after, with other work in between; recent ones are kept", async () => {
  await (await createHandle().open()).insert(newAction());
  const database = await openDatabase();
  await insertOldActions(database, 5_000, 31);
  await insertOldActions(database, 10, 29);
  await createHandle().open();
  expect(await countActions(database)).toBeLessThanOrEqual(4_011);
  await new Promise((resolve) => setImmediate(resolve));
  expect(await countActions(database)).toBeGreaterThan(1_011);
  await expect.poll(() => countActions(database)).toBe(11);
});

test("actions that become old after the start are deleted within an hour", async () => {
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
  onTestFinished(() => void vi.useRealTimers());
  const journal = createHandle();
  await journal.open();
  const database = await openDatabase();
  await insertOldActions(database, 5, 31);
  expect(await countActions(database)).toBe(5);
  vi.advanceTimersByTime(3_600_000);
  await expect.poll(() => countActions(database)).toBe(0);
  await journal.close();
  expect(vi.getTimerCount()).toBe(0);
});

test("tables are not migrated if another command must migrate them, and the error names the command", async () => {
  const failure: unknown = await createHandle({ migrates: false })
    .open()
    .catch((error: unknown) => error);
  expect(failure instanceof Failure && toReport(failure.facts)).toMatchObject({
    kind: "unavailable",
    next: expect.stringContaining("mic-mcp teams migrate"),
  });
  await createHandle().open();
  expect(await (await createHandle({ migrates: false }).open()).find("service", "none")).toBeUndefined();
  expect(await countActions(await openDatabase())).toBe(0);
});

test("a database that the journal shares stays open when the journal closes", async () => {
  const database = await openDatabase();
  const handle = createHandle({ database: async () => database });
  await (await handle.open()).insert(newAction());
  await handle.close();
  expect(await countActions(database)).toBe(1);
});
