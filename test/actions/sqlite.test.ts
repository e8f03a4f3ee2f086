// Tests the journal file under a running server: once moved, removed or replaced, it refuses every write until a restart.
import { copyFile, rename, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { openJournal } from "../../src/actions/journal.ts";
import { openSqlite } from "../../src/actions/store/sqlite.ts";
import { createJob, enveloped, job } from "../contract/samples.ts";
import { inProcessServerForTest } from "../support/server.ts";
import { answer } from "../support/stub.ts";
import { folderForTest } from "../support/temporary-folder.ts";
import { benchForTest } from "./bench.ts";
import { insertAction, SUCCEEDED, UNKNOWN } from "./samples.ts";

const FILE = "actions.sqlite";
const RESTART = /moved, replaced or deleted while this server was running/;

async function openForTest(stateDir: string) {
  const database = await openSqlite(stateDir);
  onTestFinished(() => database.close());
  return database;
}

const damages: readonly [string, (files: Readonly<Record<"parent" | "stateDir", string>>) => Promise<void>][] = [
  ["its folder moved", ({ parent, stateDir }) => rename(stateDir, join(parent, "elsewhere"))],
  ["its file removed", ({ stateDir }) => rm(join(stateDir, FILE))],
  ["its WAL removed", ({ stateDir }) => rm(join(stateDir, `${FILE}-wal`))],
  [
    "another file put over it",
    async ({ parent, stateDir }) => {
      await (await openSqlite(join(parent, "other"))).close();
      await rename(join(parent, "other", FILE), join(stateDir, FILE));
    },
  ],
  ["an old copy put over it", ({ parent, stateDir }) => rename(join(parent, "copy"), join(stateDir, FILE))],
];

// Windows cannot move an open file.
const isWindows = process.platform === "win32";
const unlessWindows = isWindows ? " (needs POSIX)" : "";
test.skipIf(isWindows).each(damages)(
  `a journal with %s while it is open refuses every write, and works again after a restart${unlessWindows}`,
  async (_, damage) => {
    const parent = await folderForTest();
    const stateDir = join(parent, "state");
    const former = await openSqlite(stateDir);
    const journal = await openJournal(former, { owner: "one", now: Date.now });
    const insert = (key: string) => insertAction(journal, { key, fingerprint: key });
    const [done, underWay] = [await insert("done"), await insert("under way")];
    await journal.resolve(done, SUCCEEDED);
    await former.query("PRAGMA wal_checkpoint(TRUNCATE)");
    await copyFile(join(stateDir, FILE), join(parent, "copy"));
    // This row is only in the WAL.
    await journal.resolve({ service: "service", key: "under way" }, UNKNOWN);
    await damage({ parent, stateDir });
    await expect(insert("next")).rejects.toThrow(RESTART);
    await expect(journal.claim({ ...underWay, state: "unknown" }, true)).rejects.toThrow(RESTART);
    await expect(journal.resolve(underWay, SUCCEEDED)).rejects.toThrow(RESTART);
    expect(await journal.find("service", "done")).toMatchObject({ state: "succeeded" });
    await former.close();
    const database = await openForTest(stateDir);
    const next = await openJournal(database, { owner: "two", now: Date.now });
    expect(await next.find("service", "next")).toBeUndefined();
    await insertAction(next, { key: "of two" });
    expect(await database.query("PRAGMA integrity_check")).toEqual([{ integrity_check: "ok" }]);
  },
);

test.skipIf(isWindows)(
  `a server sends no new action and requests a restart, and works when the journal is restored or the server is restarted${unlessWindows}`,
  async () => {
    const { stub, stateDir, env } = await benchForTest();
    const server = await inProcessServerForTest(env);
    const submit = (year: number, at = server) => at.call("submit_job", { ...createJob, parameterValues: { year } });
    stub.respond(() => answer(202, enveloped(job)));
    expect((await submit(1)).error).toBeUndefined();
    const elsewhere = join(dirname(stateDir), "elsewhere");
    await rename(stateDir, elsewhere);
    expect((await submit(1)).structured).toMatchObject({ action: { replayed: true } });
    expect((await submit(2)).error).toMatchObject({
      ...{ kind: "internal", sideEffect: "none", message: expect.stringMatching(RESTART) },
      next: expect.stringMatching(/^Ask the user to put the journal files back .* restart/),
    });
    const countSent = () => stub.requests.filter(({ method }) => method === "POST").length;
    expect(countSent()).toBe(1);
    const restarted = await inProcessServerForTest(env);
    expect((await submit(2, restarted)).error).toBeUndefined();
    await restarted.end();
    await rm(stateDir, { recursive: true });
    await rename(elsewhere, stateDir);
    expect((await submit(3)).error).toBeUndefined();
    expect(countSent()).toBe(3);
  },
);

test("SQLite syncs each commit", async () => {
  const database = await openForTest(await folderForTest());
  expect(await database.query("PRAGMA synchronous")).toEqual([{ synchronous: 2 }]);
  expect(await database.query("PRAGMA journal_mode")).toEqual([{ journal_mode: "wal" }]);
});
