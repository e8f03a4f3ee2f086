// Tests the journal file under a running server: once moved, removed or replaced, it refuses every write until a restart.
import { chmod, copyFile, readdir, rename, rm, stat, symlink } from "node:fs/promises";
import { dirname, join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { openJournal } from "../../src/actions/journal.ts";
import { openSqlite } from "../../src/store/sqlite.ts";
import { createJob, enveloped, job } from "../contract/samples.ts";
import { inProcessServerForTest, type RawClient, startServer } from "../support/server.ts";
import { answer } from "../support/stub.ts";
import { folderForTest } from "../support/temporary-folder.ts";
import { posixMissing, testUnless } from "../support/unless.ts";
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
  ["the index of its WAL removed", ({ stateDir }) => rm(join(stateDir, `${FILE}-shm`))],
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
  `a server whose folder was moved requests a restart, and sends no new action until a restart or restore${unlessWindows}`,
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
      ...{ kind: "unavailable", sideEffect: "none", message: expect.stringMatching(RESTART) },
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

test.skipIf(isWindows).each(["", "-wal", "-shm"])(
  `a link to a moved actions.sqlite%s makes no call run twice, and the file works when put back${unlessWindows}`,
  async (suffix) => {
    const { stub, stateDir, env } = await benchForTest();
    const running = await inProcessServerForTest(env);
    const submit = (year: number, at = running) => at.call("submit_job", { ...createJob, parameterValues: { year } });
    stub.respond(() => answer(202, enveloped(job)));
    expect((await submit(1)).error).toBeUndefined();
    const path = join(stateDir, FILE + suffix);
    const elsewhere = join(dirname(stateDir), "elsewhere");
    await rename(path, elsewhere);
    await symlink(elsewhere, path);
    const started = await inProcessServerForTest(env);
    const linked = {
      message: expect.stringContaining(`${FILE}${suffix} is a symbolic link`),
      next: expect.stringMatching(/^Ask the user to replace the link with the journal file.* MIC_STATE_DIR /),
    };
    expect((await submit(2)).error).toMatchObject({ ...linked, sideEffect: "none" });
    expect((await submit(1, started)).error).toMatchObject(linked);
    await rename(elsewhere, path);
    expect((await submit(1, started)).structured).toMatchObject({ action: { replayed: true } });
    expect((await submit(2)).error).toBeUndefined();
    expect((await submit(2, started)).structured).toMatchObject({ action: { replayed: true } });
    expect(stub.requests.filter(({ method }) => method === "POST").length).toBe(2);
  },
);

test.skipIf(isWindows)(
  `no call runs twice in a running server and a second one started after the WAL index was removed${unlessWindows}`,
  async () => {
    const { stub, stateDir, env } = await benchForTest();
    const running = await inProcessServerForTest(env);
    const submit = (year: number, at: Pick<RawClient, "call"> = running) =>
      at.call("submit_job", { ...createJob, parameterValues: { year } });
    stub.respond(() => answer(202, enveloped(job)));
    expect((await submit(1)).error).toBeUndefined();
    await rm(join(stateDir, `${FILE}-shm`));
    // In one process, SQLite uses one index for both servers.
    const started = await startServer({ env });
    expect((await submit(1, started)).structured).toMatchObject({ action: { replayed: true } });
    expect((await submit(2, started)).error).toBeUndefined();
    // The running server does not see the row of the other one.
    expect((await submit(2)).error).toMatchObject({ sideEffect: "none", message: expect.stringMatching(RESTART) });
    expect(stub.requests.filter(({ method }) => method === "POST")).toHaveLength(2);
  },
);

test.skipIf(isWindows)(`a link to a missing journal is refused, and creates no file${unlessWindows}`, async () => {
  const [stateDir, elsewhere] = [await folderForTest(), await folderForTest()];
  await symlink(join(elsewhere, FILE), join(stateDir, FILE));
  await expect(openForTest(stateDir)).rejects.toThrow(`${FILE} is a symbolic link`);
  expect(await readdir(elsewhere)).toEqual([]);
});

test.skipIf(isWindows)(
  `a link as the state folder is accepted, until it leads to another folder during use${unlessWindows}`,
  async () => {
    const parent = await folderForTest();
    const [folder, other, link] = [join(parent, "state"), join(parent, "other"), join(parent, "link")];
    for (const each of [folder, other]) await (await openSqlite(each)).close();
    await symlink(folder, link);
    const journal = await openJournal(await openForTest(link), { owner: "one", now: Date.now });
    await insertAction(journal, { key: "first" });
    await rm(link);
    await symlink(other, link);
    await expect(insertAction(journal, { key: "next" })).rejects.toThrow(RESTART);
  },
);

test("SQLite syncs each commit, and on macOS also flushes the disk's own cache", async () => {
  const database = await openForTest(await folderForTest());
  expect(await database.query("PRAGMA synchronous")).toEqual([{ synchronous: 2 }]);
  expect(await database.query("PRAGMA fullfsync")).toEqual([{ fullfsync: 1 }]);
  expect(await database.query("PRAGMA journal_mode")).toEqual([{ journal_mode: "wal" }]);
});

testUnless(
  posixMissing,
  "a journal is readable only by this user: so is a new one, and opening a journal that other users can read makes it so",
  async () => {
    const stateDir = join(await folderForTest(), "deep", "state");
    const modeOf = async (path: string) => ((await stat(path)).mode & 0o777).toString(8);
    const database = await openForTest(stateDir);
    await openJournal(database, { owner: "one", now: Date.now });
    expect(await modeOf(stateDir)).toBe("700");
    for (const suffix of ["", "-wal", "-shm"]) expect(await modeOf(join(stateDir, FILE + suffix))).toBe("600");
    await chmod(join(stateDir, FILE), 0o644);
    await openForTest(stateDir);
    expect(await modeOf(join(stateDir, FILE))).toBe("600");
  },
);
