// Tests the journal identically on both databases: deduplication, takeover, and the remains of a dead process.
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import fc from "fast-check";
import { beforeEach, expect, test } from "vitest";
import { LEASE_MS } from "../../src/actions/claims.ts";
import { DEDUPLICATION_WINDOW_MS } from "../../src/actions/deduplication-window.ts";
import { canonicalArguments } from "../../src/actions/fingerprint.ts";
import { type ActionState, type Journal, openJournal, type Resolution } from "../../src/actions/journal.ts";
import { listActions } from "../../src/actions/listing.ts";
import { JOURNAL_VERSION, NewerJournal } from "../../src/actions/schema.ts";
import type { Database } from "../../src/store/database.ts";
import { anyCharacter } from "../support/any-character.ts";
import { databaseForTest, describeWithPostgres } from "../teams/services.ts";
import { describeEachDriver, openDatabaseForTest } from "./drivers.ts";
import {
  createTestActions,
  DEAD_OWNER,
  insertAction,
  type JournalLocation,
  newAction,
  REJECTED,
  SUCCEEDED,
  storedAction,
  UNKNOWN,
} from "./samples.ts";

const HOUR_MS = 3_600_000;
/** All versions since the baseline. */
const VERSIONS = [9, 10, 11, JOURNAL_VERSION];
const ODD_ID = 'job\u0000\ud800\u001a/1 %25"é🍨';

const readVersions = async (database: Database) =>
  (await database.query("SELECT version FROM journal_version ORDER BY version")).map(({ version }) => version);

/** Built once: starting a TypeScript loader in each process would take longer than the race. */
const racer = build({
  entryPoints: [fileURLToPath(new URL("racer.ts", import.meta.url))],
  bundle: true,
  write: false,
  platform: "node",
  format: "esm",
  packages: "external",
}).then(({ outputFiles: [file] }) => file?.text);

/** Returns the wins of each of four real processes, all of which have opened the journal when `prepare` is called. */
async function race(
  location: JournalLocation,
  races: readonly string[],
  count: number,
  prepare: () => Promise<void>,
): Promise<string[][]> {
  const args = ["--input-type=module", "-e", (await racer) ?? "", JSON.stringify({ ...location, races, count })];
  const racers = Array.from({ length: 4 }, () => spawn(process.execPath, args, { stdio: ["pipe", "pipe", "inherit"] }));
  const outputs = racers.map(({ stdout }) => createInterface(stdout)[Symbol.asyncIterator]());
  const readLines = async () => (await Promise.all(outputs.map((output) => output.next()))).map(({ value }) => value);
  // All processes start together when each is ready: first to open the journal, then for each race.
  for (let start = 0; start <= races.length; start++) {
    await readLines();
    if (start === 1) await prepare();
    for (const { stdin } of racers) stdin.write("go\n");
  }
  return (await readLines()).map((line): string[] => JSON.parse(line));
}

describeEachDriver((createLocation) => {
  let clock: { nowMs: number };
  let location: JournalLocation;
  let journal: Journal;
  const openJournalAs = async (owner: string) =>
    await openJournal(await openDatabaseForTest(location), { owner, now: () => clock.nowMs });
  beforeEach(async () => {
    clock = { nowMs: 1_800_000_000_000 };
    location = await createLocation();
    journal = await openJournalAs("one");
  });

  /** The key of the live action with this fingerprint, which a call without a key would return. */
  const findLiveKey = async (journal: Journal, fingerprint = "hash"): Promise<string | undefined> => {
    const latest = await journal.findLatest("service", "submit_job", { fingerprint, boundFingerprint: null });
    return latest?.isLive ? latest.action.key : undefined;
  };

  async function insertResolved(
    journal: Journal,
    key: string,
    resolution: Resolution,
    facts: Parameters<typeof newAction>[0] = {},
  ) {
    const action = await insertAction(journal, { key, fingerprint: key, ...facts });
    const written = await journal.resolve(action, resolution);
    if (!written) throw new Error(`${key} was not resolved`);
    return written;
  }

  test("a new action is recorded unchanged and found by its key", async () => {
    const body = JSON.stringify({ reason: 'é🍨\u0000\ud800"\\', n: 1e21 });
    const action = newAction({ body, arguments: body, ifMatch: '"7"' });
    const written = await journal.insert(action);
    const { nowMs } = clock;
    expect(written).toEqual(
      storedAction({
        arguments: body,
        if_match: '"7"',
        body,
        lease_until: nowMs + LEASE_MS,
        created_at: nowMs,
        first_sent_at: nowMs,
        updated_at: nowMs,
        read_at: nowMs,
      }),
    );
    expect(await journal.find("service", action.key)).toEqual(written);
    expect(await journal.find("another service", action.key)).toBeUndefined();
  });

  test("each key exists once per service, whichever process inserts it first", async () => {
    const two = await openJournalAs("two");
    expect(await journal.insert(newAction({ isExplicit: true }))).toBeDefined();
    expect(await two.insert(newAction({ isExplicit: true, fingerprint: "other" }))).toBeUndefined();
    expect(await two.insert(newAction({ fingerprint: "other" })), "agreed to by a user").toBeUndefined();
    expect(await two.insert(newAction({ service: "another service", isExplicit: true }))).toBeDefined();
  });

  test.each([
    ["in progress", undefined],
    ["unknown", UNKNOWN],
    ["succeeded within the window", SUCCEEDED],
  ])(
    "an identical call without a key is the same action while the first is %s, and no second one is inserted",
    async (_state, resolution) => {
      const two = await openJournalAs("two");
      const first = await insertAction(journal, { key: "first" });
      if (resolution) await journal.resolve(first, resolution);
      clock.nowMs += DEDUPLICATION_WINDOW_MS - 1;
      expect(await two.insert(newAction({ key: "second" }))).toBeUndefined();
      expect(await findLiveKey(two)).toBe("first");
      expect(await two.findLatest("service", "retry_job", newAction())).toBeUndefined();
      expect(await two.findLatest("another service", "submit_job", newAction())).toBeUndefined();
      clock.nowMs += 1;
      expect(await two.insert(newAction({ key: "third", isExplicit: true })), "a key of its own").toBeDefined();
      expect(await findLiveKey(two), "the latest").toBe("third");
    },
  );

  test("a live action with an explicit key prevents an insert without a key", async () => {
    await insertAction(journal, { key: "own", isExplicit: true });
    expect(await journal.insert(newAction({ key: "second" }))).toBeUndefined();
  });

  test("a success releases its slot after the window, and replays do not extend the window", async () => {
    await insertResolved(journal, "first", SUCCEEDED, { fingerprint: "hash" });
    clock.nowMs += DEDUPLICATION_WINDOW_MS - 1;
    expect(await findLiveKey(journal)).toBe("first");
    clock.nowMs += 1;
    expect(await journal.findLatest("service", "submit_job", newAction())).toMatchObject({
      isLive: false,
      action: { key: "first" },
    });
    expect(await journal.insert(newAction({ key: "second" }))).toMatchObject({ key: "second", state: "in_progress" });
    expect(await journal.find("service", "first"), "it stays for its key").toMatchObject({ state: "succeeded" });
  });

  test.each([
    ["back by 5 h", -5 * HOUR_MS, "first"],
    ["back by 50 h", -50 * HOUR_MS, "first"],
    ["back by a year, from a clock that was ahead", -365 * 24 * HOUR_MS, undefined],
  ])("setting the clock %s after a success decides whether the action is live: %s ms, %s", async (_how, byMs, live) => {
    await insertResolved(journal, "first", SUCCEEDED, { fingerprint: "hash" });
    clock.nowMs += byMs;
    expect(await findLiveKey(journal)).toBe(live);
  });

  test.each([-5 * HOUR_MS, 25 * HOUR_MS])(
    "setting the clock by %s ms never permits a second action while the first is in progress or unknown",
    async (byMs) => {
      const first = await insertAction(journal, { key: "first" });
      clock.nowMs += byMs;
      expect(await journal.insert(newAction({ key: "second" }))).toBeUndefined();
      await journal.resolve(first, UNKNOWN);
      clock.nowMs += byMs;
      expect(await journal.insert(newAction({ key: "third" }))).toBeUndefined();
      expect(await findLiveKey(journal)).toBe("first");
    },
  );

  test("a later identical success supersedes an action that stayed unknown", async () => {
    await insertResolved(journal, "lost", UNKNOWN, { fingerprint: "hash" });
    clock.nowMs += 1;
    await insertResolved(journal, "again", SUCCEEDED, { fingerprint: "hash", isExplicit: true });
    expect(await findLiveKey(journal)).toBe("again");
    clock.nowMs += DEDUPLICATION_WINDOW_MS;
    expect(await findLiveKey(journal), "the unknown one does not come back").toBeUndefined();
    expect(await journal.insert(newAction({ key: "daily" })), "nor does it keep its slot").toMatchObject({
      key: "daily",
    });
  });

  test("registered inputs are found by their ids, and kept as long as jobs use them", async () => {
    for (let n = 0; n < 31; n++) {
      const args = canonicalArguments({ workspaceId: "w", inputKind: "M4_FILE", referenceId: `devfile_${n}` });
      const facts = { tool: "register_input", arguments: args };
      await insertResolved(journal, `r${n}`, { ...SUCCEEDED, createdId: `input-${n}` }, facts);
    }
    const ids = Array.from({ length: 32 }, (_, n) => `input-${n}`);
    const found = await journal.findReferences("service", ids);
    expect(found.size).toBe(31);
    expect(found.get("input-30")).toEqual({ inputKind: "M4_FILE", referenceId: "devfile_30" });
    expect((await journal.findReferences("another service", ids)).size).toBe(0);
    clock.nowMs += 25 * HOUR_MS;
    await journal.findReferences("service", ["input-1"]);
    await journal.prune(24 * HOUR_MS);
    expect([...(await journal.findReferences("service", ids)).keys()]).toEqual(["input-1"]);
  });

  test("one process takes over an action that no process works on", async () => {
    const [two, three] = [await openJournalAs("two"), await openJournalAs("three")];
    const action = await insertAction(journal, { key: "a", fingerprint: "a" });
    expect(await two.claim(action, false), "its owner is alive").toBeUndefined();
    const claimed = await two.claim(action, true);
    expect(claimed).toMatchObject({ owner: "two", state: "in_progress", attempts: 1, indeterminate: 1, body: "{}" });
    expect(await three.claim(action, true), "it has another owner now").toBeUndefined();
    if (!claimed) throw new Error("not claimed");
    clock.nowMs += 1;
    await two.heartbeat();
    expect(await three.claim(claimed, true), "its owner has renewed the lease since").toBeUndefined();
    const seen = await three.find("service", claimed.key);
    if (!seen) throw new Error("not there");
    expect(await three.claim(seen, true)).toMatchObject({ owner: "three", attempts: 2, indeterminate: 1 });
  });

  test("an action that is unknown or rejected can be claimed again, one that succeeded cannot", async () => {
    const claimed = { state: "in_progress", attempts: 2 };
    for (const [resolution, expected] of [
      [UNKNOWN, { ...claimed, indeterminate: 1 }],
      [REJECTED, { ...claimed, indeterminate: 0 }],
    ] as const) {
      const action = await insertResolved(journal, resolution.state, resolution);
      expect(await journal.claim(action, false)).toMatchObject(expected);
    }
    expect(await journal.claim(await insertResolved(journal, "done", SUCCEEDED), true)).toBeUndefined();
  });

  test("the age of an unknown outcome counts from the time when the API may first have received the key", async () => {
    const begunAt = clock.nowMs;
    const action = await insertResolved(journal, "a", REJECTED);
    clock.nowMs += 24 * HOUR_MS;
    const sentAt = clock.nowMs;
    expect(await journal.claim(action, false), "nothing had happened before").toMatchObject({
      created_at: begunAt,
      first_sent_at: sentAt,
    });
    await journal.resolve(action, UNKNOWN);
    clock.nowMs += 24 * HOUR_MS;
    expect(await journal.claim(action, false), "unknown since then").toMatchObject({ first_sent_at: sentAt });
  });

  test("the API's time of the first attempt is taken from the first response that contains it, and is kept", async () => {
    const apiAt = clock.nowMs + 50 * HOUR_MS;
    expect(await insertAction(journal, { key: "a", fingerprint: "a", apiNow: apiAt })).toMatchObject({
      first_sent_api_at: apiAt,
    });
    const action = await insertAction(journal, { key: "b", fingerprint: "b" });
    expect(action).toMatchObject({ first_sent_api_at: null });
    clock.nowMs += 1_000;
    const unknown = await journal.resolve(action, { ...UNKNOWN, apiNow: apiAt + 1_000 });
    const drift = Number(unknown?.first_sent_api_at) - apiAt;
    // PostgreSQL measures the time since the first attempt by its own clock.
    expect([0, 1_000]).toContain(Math.round(drift / 1_000) * 1_000);
    const claimed = await journal.claim(action, false, apiAt + HOUR_MS);
    expect(claimed).toMatchObject({ first_sent_api_at: unknown?.first_sent_api_at });
    await journal.resolve(action, { ...REJECTED, apiNow: apiAt + 2 * HOUR_MS });
    const again = await journal.claim(action, false, apiAt + 3 * HOUR_MS);
    expect(again, "a rejected action is sent for the first time").toMatchObject({
      first_sent_api_at: apiAt + 3 * HOUR_MS,
    });
  });

  test("only the owner of an action resolves it, once", async () => {
    const two = await openJournalAs("two");
    const action = await insertAction(journal, { key: "a", fingerprint: "a" });
    expect(await two.resolve(action, SUCCEEDED)).toBeUndefined();
    clock.nowMs += 5;
    expect(await journal.resolve(action, SUCCEEDED)).toMatchObject({
      state: "succeeded",
      attempts: 1,
      outcome: SUCCEEDED.outcome,
      resource_id: "job-1",
      updated_at: clock.nowMs,
      resolved_at: clock.nowMs,
      created_at: clock.nowMs - 5,
    });
    expect(await journal.resolve(action, UNKNOWN)).toBeUndefined();
    const lost = await insertAction(journal, { key: "lost", fingerprint: "lost" });
    await two.claim(lost, true);
    expect(await journal.resolve(lost, SUCCEEDED), "taken over").toBeUndefined();
  });

  const FOUR = [
    ["a", SUCCEEDED],
    ["b", UNKNOWN],
    ["c", undefined],
    ["d", REJECTED],
  ] as const;

  test("actions are listed latest first by service and state, and all are counted", async () => {
    for (const [key, resolution] of FOUR) {
      clock.nowMs += 1;
      const action = await insertAction(journal, { key, fingerprint: key });
      if (resolution) await journal.resolve(action, resolution);
    }
    clock.nowMs += 1;
    await insertAction(journal, { key: "e", service: "another" });
    const keys = async (service: string | undefined, state: ActionState | undefined, limit: number) =>
      (await listActions(journal, { service, state, limit })).actions
        .map(({ idempotencyKey }) => idempotencyKey)
        .join("");
    expect(await keys("service", undefined, 10), "unresolved ones first, the oldest first").toBe("bcda");
    expect(await keys("service", undefined, 1)).toBe("bcd");
    expect(await keys(undefined, undefined, 10)).toBe("bceda");
    expect(await keys("service", "rejected", 10)).toBe("d");
    expect(await keys(undefined, "in_progress", 10)).toBe("ce");
    const { counts } = await listActions(journal, { service: "service", state: undefined, limit: 1 });
    expect(counts).toEqual({ in_progress: 1, succeeded: 1, rejected: 1, unknown: 1 });
    expect(await journal.countUnresolved()).toEqual({ inProgress: 2, unknown: 1 });
  });

  test("actions in every state are pruned when they have not changed for the given time", async () => {
    for (const [key, resolution] of FOUR) {
      const action = await insertAction(journal, { key, fingerprint: key });
      if (resolution) await journal.resolve(action, resolution);
    }
    clock.nowMs += 1000;
    await insertResolved(journal, "late", SUCCEEDED);
    expect(await journal.prune(999)).toBe(false);
    const { actions } = await listActions(journal, { service: "service", state: undefined, limit: 10 });
    expect(actions.map(({ idempotencyKey }) => idempotencyKey)).toEqual(["late"]);
  });

  test("any text that JSON can represent is stored byte for byte, and found as an id", async () => {
    const { readHistory } = createTestActions(journal);
    let n = 0;
    await fc.assert(
      fc.asyncProperty(fc.json(), fc.string({ unit: anyCharacter }), async (body, text) => {
        const key = `key-${++n}`;
        const outcome = JSON.stringify(text);
        const action = await insertAction(journal, { key, fingerprint: key, body, arguments: body, targetId: text });
        await journal.resolve(action, { ...SUCCEEDED, outcome, createdId: text });
        const stored = { body, arguments: body, about: text, outcome, resource_id: text };
        expect(await journal.find("service", key)).toMatchObject(stored);
      }),
      { numRuns: 50 },
    );
    await insertResolved(journal, "a", { ...SUCCEEDED, createdId: ODD_ID }, { targetId: ODD_ID });
    expect(await readHistory(ODD_ID)).toMatchObject({ creationArguments: {}, actions: [{ idempotencyKey: "a" }] });
  });

  test("a journal of a later version is refused, also by a process that has already opened it", async () => {
    const action = await insertResolved(journal, "before", UNKNOWN);
    const database = await openDatabaseForTest(location);
    await database.query("INSERT INTO journal_version (version) VALUES ($1)", [JOURNAL_VERSION + 1]);
    await expect(openJournalAs("two")).rejects.toThrow(NewerJournal);
    for (const isExplicit of [true, false])
      await expect(journal.insert(newAction({ isExplicit }))).rejects.toThrow(String(JOURNAL_VERSION + 1));
    await expect(journal.claim(action, true)).rejects.toThrow(NewerJournal);
    expect(await database.query("SELECT key, state FROM actions")).toEqual([{ key: "before", state: "unknown" }]);
  });

  test("a journal of a later version with only additions is used, and not changed", async () => {
    const database = await openDatabaseForTest(location);
    const later = [JOURNAL_VERSION + 1, JOURNAL_VERSION];
    await database.query("INSERT INTO journal_version (version, needs) VALUES ($1, $2)", later);
    await database.query("ALTER TABLE actions ADD COLUMN later TEXT NOT NULL DEFAULT 'x'");
    expect(await insertResolved(await openJournalAs("two"), "a", SUCCEEDED)).toMatchObject({ state: "succeeded" });
    expect(await readVersions(database)).toEqual([...VERSIONS, JOURNAL_VERSION + 1]);
  });

  test("one of two identical calls that are inserted at the same moment is recorded", async () => {
    const real = await openDatabaseForTest(location);
    let { query } = real;
    const terms = { owner: "one", now: () => clock.nowMs };
    const one = await openJournal({ ...real, query: (sql, values) => query(sql, values) }, terms);
    const two = await openJournalAs("two");
    let other: Promise<unknown> = Promise.resolve();
    await real.withExclusiveTransaction(async (inTransaction) => {
      query = inTransaction;
      expect(await one.insert(newAction({ key: "one" }))).toMatchObject({ key: "one" });
      other = two.insert(newAction({ key: "two" }));
      // An insert that does not wait for the end of the first transaction would have finished by now.
      await Promise.race([other, sleep(500)]);
    });
    expect(await other).toBeUndefined();
  });

  test("processes that open the journal at the same moment create it once, and each race has one winner", async () => {
    location = await createLocation();
    const [races, count] = [["insert", "twins", "expired", "claim"], 60];
    const won = (
      await race(location, races, count, async () => {
        expect(await readVersions(await openDatabaseForTest(location))).toEqual(VERSIONS);
        const dead = await openJournalAs(DEAD_OWNER);
        for (let n = 0; n < count; n++) {
          await dead.insert(newAction({ key: `claim-${n}`, fingerprint: `claim-${n}`, isExplicit: true }));
          // It succeeded before the window, by this test's clock.
          await insertResolved(dead, `old-${n}`, SUCCEEDED, { fingerprint: `expired-${n}` });
        }
        const longAgo = Date.now() - 2 * DEDUPLICATION_WINDOW_MS;
        await (await openDatabaseForTest(location)).query(
          "UPDATE actions SET resolved_at = $1 WHERE state = 'succeeded'",
          [longAgo],
        );
      })
    ).flat();
    const all = races.flatMap((each) => Array.from({ length: count }, (_, n) => `${each}-${n}`));
    expect(won.sort()).toEqual(all.sort());
  });
});

describeWithPostgres("instances whose clocks are hours apart", (postgres) => {
  let slow: Journal;
  let fast: Journal;
  // The clocks differ by more than the deduplication window.
  beforeEach(async () => {
    const url = await postgres().createDatabase();
    const openWithClock = async (owner: string, aheadMs: number) =>
      await openJournal(await databaseForTest(url), { owner, now: () => Date.now() + aheadMs });
    slow = await openWithClock("slow", -12 * HOUR_MS);
    fast = await openWithClock("fast", 12 * HOUR_MS);
  });

  test("a success of the instance with the slow clock is the same action for the instance with the fast clock", async () => {
    expect(await slow.resolve(await insertAction(slow), SUCCEEDED)).toBeDefined();
    expect(await fast.findLatest("service", "submit_job", newAction())).toMatchObject({
      isLive: true,
      action: { key: "key-0000" },
    });
    expect(await fast.insert(newAction({ key: "another" }))).toBeUndefined();
    await fast.prune(HOUR_MS);
    expect(await slow.find("service", "key-0000"), "recent").toBeDefined();
  });

  test("an action of the instance with the slow clock is in progress for the one with the fast clock, and vice versa", async () => {
    await slow.insert(newAction({ key: "of-slow", fingerprint: "a" }));
    await fast.insert(newAction({ key: "of-fast", fingerprint: "b" }));
    for (const journal of [slow, fast]) {
      await journal.heartbeat();
      const { counts } = await listActions(journal, { service: "service", state: undefined, limit: 10 });
      expect(counts).toMatchObject({ in_progress: 2, unknown: 0 });
    }
  });
});
