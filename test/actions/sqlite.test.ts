// The journal's file under a running server: moved, removed or replaced, it is noticed; killed, next to nothing hangs on the WAL.
import { EventEmitter, once } from "node:events";
import { copyFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { type Journal, openJournal, type StoredAction } from "../../src/actions/journal.ts";
import { openSqlite } from "../../src/actions/sqlite.ts";
import { createJob, enveloped, job } from "../contract/samples.ts";
import { folderForTest } from "../support/home.ts";
import { insideServer, startServer } from "../support/server.ts";
import { answer, neverAnswer, type Stub } from "../support/stub.ts";
import { benchForTest } from "./bench.ts";
import { newAction } from "./samples.ts";

const FILE = "actions.sqlite";
const LONG = { timeout: 60_000 };

async function bench() {
  const given = await benchForTest();
  return { ...given, parent: dirname(given.stateDir), serve: () => startServer({ env: given.env }) };
}

async function openForTest(stateDir: string) {
  const database = await openSqlite(stateDir);
  onTestFinished(() => database.close());
  return database;
}

const accepted = answer(202, enveloped(job));
const lost = answer(503, undefined, { "retry-after": "600" });
const named = (run: string) => ({ ...createJob, parameterValues: { ...createJob.parameterValues, run } });

const keysOf = (stub: Stub, run: string) =>
  stub.requests
    .filter(({ body }) => body.includes(`"${run}"`))
    .map(({ headers }) => String(headers["idempotency-key"]));

/** Answers what comes first with nothing, until its sender is killed. */
async function arrived(stub: Stub): Promise<void> {
  await new Promise<void>((resolve) => {
    stub.respond(() => {
      resolve();
      return neverAnswer;
    });
  });
}

const walSize = async (stateDir: string) => (await stat(join(stateDir, `${FILE}-wal`))).size;

interface Placed {
  readonly parent: string;
  readonly stateDir: string;
}
const strikes: readonly (readonly [string, (placed: Placed) => Promise<void>])[] = [
  ["its folder removed", ({ stateDir }) => rm(stateDir, { recursive: true })],
  ["its folder moved", ({ parent, stateDir }) => rename(stateDir, join(parent, "elsewhere"))],
  ["its file removed", ({ stateDir }) => rm(join(stateDir, FILE))],
  ["its file moved", ({ parent, stateDir }) => rename(join(stateDir, FILE), join(parent, FILE))],
  [
    "another file put over it",
    async ({ parent, stateDir }) => {
      await (await openSqlite(join(parent, "other"))).close();
      await rename(join(parent, "other", FILE), join(stateDir, FILE));
    },
  ],
  ["an old copy put over it", ({ parent, stateDir }) => rename(join(parent, "copy"), join(stateDir, FILE))],
];

const journalOn = async (stateDir: string, owner: string) =>
  await openJournal(await openForTest(stateDir), { owner, now: Date.now, leaseMs: 30_000 });

// An open file cannot be moved there.
const isWindows = process.platform === "win32";
const unlessWindows = isWindows ? " (needs POSIX)" : "";
describe.skipIf(isWindows).each(strikes)(`a journal with %s while it is open${unlessWindows}`, (_, strike) => {
  test.each([
    ["what is written next", true],
    ["the end of what was under way", false],
  ])("holds all it held, and first of all %s", async (_what, isNextFirst) => {
    const parent = await folderForTest();
    const placed = { parent, stateDir: join(parent, "state") };
    const [one, two] = [await journalOn(placed.stateDir, "one"), await journalOn(placed.stateDir, "two")];
    const begin = async (journal: Journal, key: string): Promise<StoredAction> => {
      const open = await journal.insert(newAction({ key, fingerprint: key }));
      if (!open) throw new Error(`${key} is there already`);
      return open;
    };
    const end = { state: "succeeded", attempts: 1, outcome: "{}", resourceId: undefined } as const;
    for (const each of [one, two]) await each.resolve(await begin(each, each === one ? "of one" : "of two"), end);
    await (await openForTest(placed.stateDir)).query("PRAGMA wal_checkpoint(TRUNCATE)");
    await copyFile(join(placed.stateDir, FILE), join(parent, "copy"));
    await one.resolve(await begin(one, "unknown"), { ...end, state: "unknown" });
    const underWay = await begin(one, "under way");
    await strike(placed);
    const rest = [() => begin(one, "next"), () => one.resolve(underWay, end)];
    for (const write of isNextFirst ? rest : rest.reverse()) expect(await write()).toBeDefined();
    // One that had the former file open, and one that is new.
    for (const journal of [two, await journalOn(placed.stateDir, "three")]) {
      const stateOf = async (key: string) => (await journal.find("service", key))?.state;
      const keys = ["of one", "of two", "unknown", "under way", "next"];
      expect(await Promise.all(keys.map(stateOf))).toEqual([
        "succeeded",
        "succeeded",
        "unknown",
        "succeeded",
        "in_progress",
      ]);
    }
    const next = await two.find("service", "next");
    expect(next && (await two.claim(next, true)), "two goes on with it").toMatchObject({
      owner: "two",
      indeterminate: 1,
    });
    const database = await openForTest(placed.stateDir);
    expect(await database.query("PRAGMA integrity_check")).toEqual([{ integrity_check: "ok" }]);
  });
});

test.skipIf(isWindows)(
  `a journal moved under running servers holds what is sent next: another one goes on when the first is killed${unlessWindows}`,
  LONG,
  async () => {
    const { stub, stateDir, parent, serve } = await bench();
    const [server, other] = await Promise.all([serve(), serve()]);
    stub.expect(accepted, accepted);
    for (const each of [server, other]) expect((await each.call("submit_job", named("before"))).error).toBeUndefined();
    await rename(stateDir, join(parent, "elsewhere"));
    const coming = arrived(stub);
    server.send("submit_job", named("next"), 7);
    await coming;
    await server.kill();
    stub.respond(() => accepted);
    expect((await other.call("submit_job", named("next"))).error).toBeUndefined();
    const keys = keysOf(stub, "next");
    expect(keys).toHaveLength(2);
    expect(new Set(keys).size, "one action").toBe(1);
    const listed = await (await insideServer({ MIC_STATE_DIR: stateDir })).call("list_actions", {});
    expect(listed.text).toContain(keys[0]);
  },
);

test("a journal whose place cannot be opened sends nothing, and works once it can", LONG, async () => {
  const { stateDir, parent, stub, env } = await bench();
  const server = await insideServer(env);
  stub.expect(accepted);
  await server.call("submit_job", named("before"));
  await rename(stateDir, join(parent, "elsewhere"));
  await writeFile(stateDir, "no folder");
  expect((await server.call("submit_job", named("next"))).error).toMatchObject({
    kind: "internal",
    sideEffect: "unknown",
  });
  expect(keysOf(stub, "next")).toEqual([]);
  await rm(stateDir);
  stub.expect(accepted);
  expect((await server.call("submit_job", named("next"))).error).toBeUndefined();
});

describe("the WAL", () => {
  test("holds nothing a moment after a write: without it, an action under way is still known", LONG, async () => {
    const { stateDir, stub, serve } = await bench();
    const server = await serve();
    stub.expect(lost);
    expect((await server.call("submit_job", named("unknown"))).error?.sideEffect).toBe("unknown");
    const coming = arrived(stub);
    server.send("submit_job", named("under way"), 7);
    await coming;
    await expect.poll(() => walSize(stateDir), { timeout: 20_000 }).toBe(0);
    await server.kill();
    for (const suffix of ["-wal", "-shm"]) await rm(join(stateDir, FILE + suffix));
    stub.respond(() => accepted);
    const next = await serve();
    for (const name of ["unknown", "under way"]) {
      expect((await next.call("submit_job", named(name))).error).toBeUndefined();
      expect(keysOf(stub, name)).toHaveLength(2);
      expect(new Set(keysOf(stub, name)).size, "one action").toBe(1);
    }
  });

  test("that a killed process left is emptied when the journal is opened", LONG, async () => {
    const { stateDir, stub, serve } = await bench();
    let left = 0;
    // A server empties it a moment after a write: one that was not killed in that moment left nothing.
    for (let n = 0; n < 20 && left === 0; n++) {
      const server = await serve();
      const coming = arrived(stub);
      server.send("submit_job", named(`under way ${n}`), 7);
      await coming;
      await server.kill();
      left = await walSize(stateDir);
    }
    expect(left).toBeGreaterThan(0);
    await openForTest(stateDir);
    expect(await walSize(stateDir)).toBe(0);
  });

  test("is emptied at the end, while others go on", async () => {
    const { stateDir } = await bench();
    await openForTest(stateDir);
    const database = await openSqlite(stateDir);
    await openJournal(database, { owner: "owner", now: Date.now, leaseMs: 30_000 });
    expect(await walSize(stateDir)).toBeGreaterThan(0);
    await database.close();
    expect(await walSize(stateDir)).toBe(0);
  });

  test("waits for others, and nobody waits for it", LONG, async () => {
    const { stateDir } = await bench();
    const [busy, other] = [await openForTest(stateDir), await openForTest(stateDir)];
    const journal = await openJournal(other, { owner: "owner", now: Date.now, leaseMs: 30_000 });
    await journal.insert(newAction());
    const gate = new EventEmitter();
    const released = once(gate, "open");
    const holding = busy.exclusively(async (query) => {
      await query("UPDATE actions SET attempts = 1");
      await released;
    });
    // Long enough for the other one to have tried in vain; meanwhile it reads.
    for (let tries = 0; tries < 30; tries++) {
      expect(await journal.find("service", "key-0000")).toMatchObject({ attempts: 0 });
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    gate.emit("open");
    await holding;
    await expect.poll(() => walSize(stateDir), { timeout: 20_000 }).toBe(0);
    expect(await journal.find("service", "key-0000")).toMatchObject({ attempts: 1 });
  });
});

describe("a question that found nothing is asked anew", () => {
  const QUESTION = "SELECT sql FROM sqlite_master WHERE name = $1";
  const answers = async ({ query }: Awaited<ReturnType<typeof openForTest>>) =>
    (await query(QUESTION, ["mine"])).length;

  test("once another connection has written, and once this one has", async () => {
    const stateDir = await folderForTest();
    const [one, other] = [await openForTest(stateDir), await openForTest(stateDir)];
    expect([await answers(one), await answers(one), await answers(other)]).toEqual([0, 0, 0]);
    await other.query("CREATE TABLE mine (n)");
    expect([await answers(one), await answers(other)]).toEqual([1, 1]);
    await one.query("DROP TABLE mine");
    expect([await answers(one), await answers(other)]).toEqual([0, 0]);
  });

  test("with other values, and after a change that was taken back", async () => {
    const database = await openForTest(await folderForTest());
    await database.query("CREATE TABLE mine (n)");
    const [nobody] = [await database.query(QUESTION, ["nobody's"])];
    expect([nobody.length, await answers(database)]).toEqual([0, 1]);
    const undone = database.exclusively(async (query) => {
      await query("DROP TABLE mine");
      expect(await query(QUESTION, ["mine"])).toEqual([]);
      throw new Error("taken back");
    });
    await expect(undone).rejects.toThrow("taken back");
    expect(await answers(database)).toBe(1);
  });
});
