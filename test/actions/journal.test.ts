// The journal's contract, the same on both databases: what is in it, who may take it, what a dead process leaves behind.
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import fc from "fast-check";
import { expect, test } from "vitest";
import { identify } from "../../src/actions/identity.ts";
import { type Journal, openJournal, type Settlement } from "../../src/actions/journal.ts";
import { JOURNAL_VERSION, NewerJournal } from "../../src/actions/migrations.ts";
import { type Driver, describeEachDriver } from "./drivers.ts";
import type { Place } from "./place.ts";
import { GONE, newAction } from "./samples.ts";

const LEASE_MS = 30_000;
const REPEAT_MS = 600_000;
const SUCCEEDED: Settlement = {
  state: "succeeded",
  attempts: 1,
  outcome: '{"value":1,"drift":[]}',
  repeatable: false,
  resourceId: "job-1",
};
const UNKNOWN: Settlement = { state: "unknown", attempts: 2, outcome: "{}", repeatable: false, resourceId: undefined };
const REFUSED: Settlement = { ...UNKNOWN, state: "rejected" };
const PUT_OFF: Settlement = { ...REFUSED, repeatable: true };

interface Bench {
  readonly clock: { nowMs: number };
  readonly place: Place;
  /** Another process's view of the same journal. */
  as(owner: string): Promise<Journal>;
}

async function bench(driver: Driver): Promise<Bench> {
  const clock = { nowMs: 1_800_000_000_000 };
  const place = await driver.place();
  return {
    clock,
    place,
    as: async (owner) =>
      await openJournal(await driver.open(place), {
        owner,
        now: () => clock.nowMs,
        leaseMs: LEASE_MS,
        repeatMs: REPEAT_MS,
      }),
  };
}

/** Built once: a loader for each process would cost more than its race. */
const racer = build({
  entryPoints: [fileURLToPath(new URL("racer.ts", import.meta.url))],
  bundle: true,
  write: false,
  platform: "node",
  format: "esm",
  packages: "external",
}).then(({ outputFiles: [file] }) => file?.text);

/** What each of four real processes won, which had all opened the journal when `prepare` was called. */
async function race(
  place: Place,
  races: readonly string[],
  count: number,
  prepare: () => Promise<void>,
): Promise<string[][]> {
  const args = ["--input-type=module", "-e", (await racer) ?? "", JSON.stringify({ ...place, races, count })];
  const racers = Array.from({ length: 4 }, () => spawn(process.execPath, args, { stdio: ["pipe", "pipe", "inherit"] }));
  const outputs = racers.map(({ stdout }) => createInterface(stdout)[Symbol.asyncIterator]());
  const lines = async () => (await Promise.all(outputs.map((output) => output.next()))).map(({ value }) => value);
  // At once, when each is ready: to open the journal, and for each race.
  for (let start = 0; start <= races.length; start++) {
    await lines();
    if (start === 1) await prepare();
    for (const { stdin } of racers) stdin.write("go\n");
  }
  return (await lines()).map((line): string[] => JSON.parse(line));
}

describeEachDriver((driver) => {
  test.each(["job\u0000-1", "\ud800job", "\u001ajob", '"job"'])(
    "an id of whatever characters is kept whole: %j",
    async (id) => {
      const { as } = await bench(driver);
      const journal = await as("one");
      const written = await journal.insert(newAction({ about: id }));
      if (!written) throw new Error("the journal was empty");
      expect(written.about).toBe(id);
      const settled = await journal.settle(written, { ...SUCCEEDED, resourceId: id });
      expect(settled?.resource_id).toBe(id);
      if (settled) await journal.markSent(settled);
      expect((await journal.findSame("service", "submit_job", "hash"))?.resource_id).toBe(id);
      await journal.markHeard("service", [id]);
      expect(await journal.findSame("service", "submit_job", "hash")).toBeUndefined();
    },
  );

  test("a new action is written as it is and found by its key", async () => {
    const { clock, as } = await bench(driver);
    const journal = await as("one");
    const body = JSON.stringify({ reason: 'é🍨\u0000\ud800"\\', n: 1e21 });
    const action = newAction({ body, arguments: body, ifMatch: '"7"' });
    const written = await journal.insert(action);
    expect(written).toEqual({
      service: "service",
      key: action.key,
      wire_key: "",
      tool: "submit_job",
      arguments: body,
      path: action.path,
      if_match: '"7"',
      body,
      state: "open",
      in_doubt: 0,
      attempts: 0,
      owner: "one",
      lease_until: clock.nowMs + LEASE_MS,
      outcome: null,
      repeatable: 0,
      resource_id: null,
      created_at: clock.nowMs,
      first_sent_at: clock.nowMs,
      updated_at: clock.nowMs,
      delivered_at: null,
      subject_hash: "hash",
      about: "recipe-1",
      looked_at: clock.nowMs,
    });
    expect(await journal.find("service", action.key)).toEqual(written);
    expect(await journal.find("another service", action.key)).toBeUndefined();
  });

  test("the key on the wire is kept beside the action's own", async () => {
    const { as } = await bench(driver);
    const journal = await as("one");
    await journal.insert(newAction({ explicit: true, wireKey: "mic-on-the-wire" }));
    expect(await journal.find("service", "key-0000")).toMatchObject({ key: "key-0000", wire_key: "mic-on-the-wire" });
    expect(await journal.find("service", "mic-on-the-wire")).toBeUndefined();
  });

  test("a key is there once for each service, whoever comes first", async () => {
    const { as } = await bench(driver);
    const [one, two] = [await as("one"), await as("two")];
    expect(await one.insert(newAction({ explicit: true }))).toBeDefined();
    expect(await two.insert(newAction({ explicit: true, subjectHash: "other" }))).toBeUndefined();
    expect(await two.insert(newAction({ service: "another service", explicit: true }))).toBeDefined();
  });

  test("until it is delivered, the same call without a key has no twin; with a key of its own it has", async () => {
    const { clock, as } = await bench(driver);
    const [one, two] = [await as("one"), await as("two")];
    const first = await one.insert(newAction({ key: "first" }));
    expect(await two.insert(newAction({ key: "second" }))).toBeUndefined();
    expect((await two.findSame("service", "submit_job", "hash"))?.key).toBe("first");
    expect(await two.findSame("service", "retry_job", "hash")).toBeUndefined();
    expect(await two.findSame("another service", "submit_job", "hash")).toBeUndefined();
    clock.nowMs += 1;
    expect(await two.insert(newAction({ key: "third", explicit: true }))).toBeDefined();
    expect((await two.findSame("service", "submit_job", "hash"))?.key, "the latest").toBe("third");
    if (!first) throw new Error("not inserted");
    expect(await two.insert(newAction({ key: "fourth" })), "nor has it while the first is under way").toBeUndefined();
  });

  /** A new action that has succeeded, and whose outcome was sent. */
  async function sent(journal: Journal, key: string) {
    const open = await journal.insert(newAction({ key, subjectHash: key, workHash: key }));
    const settled = open && (await journal.settle(open, { ...SUCCEEDED, resourceId: `job-${key}` }));
    const marked = settled && (await journal.markSent(settled));
    if (!marked) throw new Error("not sent");
    return marked;
  }
  const again = (key: string) => newAction({ key: `${key}-again`, subjectHash: key, workHash: key });

  test("a success is what the same call is about for a while after it was last sent, and no longer", async () => {
    const { clock, as } = await bench(driver);
    const [one, two] = [await as("one"), await as("two")];
    const marked = await sent(one, "a");
    clock.nowMs += REPEAT_MS - 1;
    expect(await two.insert(again("a"))).toBeUndefined();
    expect(await two.findSame("service", "submit_job", "a")).toMatchObject({ key: "a" });
    expect(await two.markSent(marked), "sent once more").toMatchObject({ delivered_at: clock.nowMs });
    clock.nowMs += REPEAT_MS - 1;
    expect(await two.findSame("service", "submit_job", "a")).toMatchObject({ key: "a" });
    clock.nowMs += 1;
    expect(await two.findSame("service", "submit_job", "a")).toBeUndefined();
    expect(await two.insert(again("a"))).toBeDefined();
  });

  test("an agent that names the key of an action or what it made has heard of it", async () => {
    const { as } = await bench(driver);
    const [one, two] = [await as("one"), await as("two")];
    for (const key of ["a", "b", "c"]) await sent(one, key);
    await two.markHeard("another service", ["a"]);
    await two.markHeard("service", ["no such thing", "b"]);
    await two.markHeard("service", ["job-c"]);
    const same = async (key: string) => (await one.findSame("service", "submit_job", key))?.key;
    expect([await same("a"), await same("b"), await same("c")]).toEqual(["a", undefined, undefined]);
    const open = await one.insert(newAction({ key: "d", subjectHash: "d", workHash: "d" }));
    await two.markHeard("service", ["d"]);
    if (open) await one.settle(open, SUCCEEDED);
    expect(await same("d"), "named before there was anything to hear").toBe("d");
  });

  test("what nobody can have read was not sent, however long ago; unless it was sent again", async () => {
    const { clock, as } = await bench(driver);
    const journal = await as("one");
    const [lost, told] = [await sent(journal, "lost"), await sent(journal, "told")];
    clock.nowMs += 5;
    await journal.markSent(told);
    await journal.markUnread(lost);
    await journal.markUnread(told);
    clock.nowMs += REPEAT_MS + 1;
    expect(await journal.findSame("service", "submit_job", "lost")).toMatchObject({ key: "lost", delivered_at: null });
    expect(await journal.findSame("service", "submit_job", "told")).toBeUndefined();
  });

  test("what is unread leaves its subject to the action that has it by now", async () => {
    const { clock, as } = await bench(driver);
    const journal = await as("one");
    const marked = await sent(journal, "a");
    clock.nowMs += REPEAT_MS + 1;
    await journal.insert(again("a"));
    await journal.markUnread(marked);
    expect(await journal.findSame("service", "submit_job", "a")).toMatchObject({ key: "a-again" });
  });

  test("work that is not settled bars the same with other notes, but for a key of its own", async () => {
    const { as } = await bench(driver);
    const journal = await as("one");
    const noted = (key: string, explicit = false) =>
      newAction({ key, subjectHash: `with note ${key}`, workHash: "work", explicit });
    const first = await journal.insert(noted("a"));
    expect(await journal.insert(noted("b"))).toBeUndefined();
    const reworded = (note: string) =>
      journal.findReworded("service", "submit_job", {
        canonical: "",
        about: "",
        workHash: "work",
        subjectHash: `with note ${note}`,
      });
    expect(await reworded("b")).toMatchObject({ key: "a" });
    expect(await reworded("a"), "itself").toBeUndefined();
    expect(await journal.insert(noted("c", true))).toBeDefined();
    const third = await journal.find("service", "c");
    for (const open of [first, third]) if (open) await journal.settle(open, SUCCEEDED);
    expect(await reworded("b")).toBeUndefined();
    expect(await journal.insert(noted("d")), "settled, another note is another action").toBeDefined();
  });

  test("an action is taken over when nobody works on it, and by one alone", async () => {
    const { clock, as } = await bench(driver);
    const [one, two, three] = [await as("one"), await as("two"), await as("three")];
    const open = await one.insert(newAction());
    if (!open) throw new Error("not inserted");
    expect(await two.claim(open, false), "its owner lives").toBeUndefined();
    const claimed = await two.claim(open, true);
    expect(claimed).toMatchObject({ owner: "two", state: "open", attempts: 1, in_doubt: 1, body: "{}" });
    expect(await three.claim(open, true), "it has another owner by now").toBeUndefined();
    if (!claimed) throw new Error("not claimed");
    clock.nowMs += 1;
    await two.heartbeat();
    expect(await three.claim(claimed, true), "its owner's heart has beaten since").toBeUndefined();
    const seen = await three.find("service", claimed.key);
    if (!seen) throw new Error("not there");
    expect(await three.claim(seen, true)).toMatchObject({ owner: "three", attempts: 2, in_doubt: 1 });
  });

  test("what is unknown or put off is taken up again; what is decided is not", async () => {
    const { as } = await bench(driver);
    const journal = await as("one");
    const claimAfter = async (key: string, settlement: Settlement) => {
      const open = await journal.insert(newAction({ key, subjectHash: key, workHash: key }));
      if (!open) throw new Error("not inserted");
      await journal.settle(open, settlement);
      return await journal.claim(open, false);
    };
    expect(await claimAfter("unknown", UNKNOWN)).toMatchObject({ state: "open", attempts: 2, in_doubt: 1 });
    expect(await claimAfter("put off", PUT_OFF), "nothing happened: no doubt").toMatchObject({
      attempts: 2,
      in_doubt: 0,
    });
    expect(await claimAfter("refused", REFUSED)).toBeUndefined();
    expect(await claimAfter("succeeded", SUCCEEDED)).toBeUndefined();
  });

  test("the age of a doubt counts from when the service may have known the key", async () => {
    const { clock, as } = await bench(driver);
    const journal = await as("one");
    const [begunAt, day] = [clock.nowMs, 86_400_000];
    const open = await journal.insert(newAction());
    if (!open) throw new Error("not inserted");
    await journal.settle(open, PUT_OFF);
    clock.nowMs += day;
    const sent = await journal.claim(open, false);
    expect(sent, "nothing had happened before").toMatchObject({ created_at: begunAt, first_sent_at: begunAt + day });
    await journal.settle(open, UNKNOWN);
    clock.nowMs += day;
    expect(await journal.claim(open, false), "it has been in doubt since").toMatchObject({
      first_sent_at: begunAt + day,
    });
  });

  test("of an earlier version is brought forward with all it holds", async () => {
    const { place, clock, as } = await bench(driver);
    const args = { recipeVersionId: "recipe-1", clientReference: "note" };
    const traits = { about: "recipeVersionId", notes: ["clientReference"] };
    const { canonical, subjectHash, workHash } = identify(args, traits);
    await (await as("one")).insert(newAction({ arguments: canonical }));
    const database = await driver.open(place);
    for (const index of ["unsettled", "undelivered", "by_subject", "by_work", "unheard", "about", "made"])
      await database.query(`DROP INDEX actions_${index}`);
    for (const column of ["first_sent_at", "subject_hash", "work_hash", "heard_at", "about", "wire_key"])
      await database.query(`ALTER TABLE actions DROP COLUMN ${column}`);
    await database.query("CREATE UNIQUE INDEX actions_untold ON actions (service, tool, arguments_hash)");
    await database.query("CREATE INDEX actions_by_arguments ON actions (service, tool, arguments_hash)");
    await database.query("DELETE FROM journal_version WHERE version > 1");
    await database.query("ALTER TABLE journal_version DROP COLUMN needs");
    await database.query("DROP TABLE audit");
    const journal = await as("two");
    expect(await journal.find("service", "key-0000")).toMatchObject({
      state: "open",
      body: "{}",
      created_at: clock.nowMs,
      first_sent_at: clock.nowMs,
      about: "recipe-1",
    });
    expect(await journal.findSame("service", "submit_job", subjectHash)).toMatchObject({ key: "key-0000" });
    expect(
      await journal.findReworded("service", "submit_job", { canonical, about: "", workHash, subjectHash: "" }),
    ).toMatchObject({ key: "key-0000" });
  });

  test("only its owner settles an action, once", async () => {
    const { clock, as } = await bench(driver);
    const [one, two] = [await as("one"), await as("two")];
    const open = await one.insert(newAction());
    if (!open) throw new Error("not inserted");
    expect(await two.settle(open, SUCCEEDED)).toBeUndefined();
    clock.nowMs += 5;
    expect(await one.settle(open, SUCCEEDED)).toMatchObject({
      state: "succeeded",
      attempts: 1,
      outcome: SUCCEEDED.outcome,
      resource_id: "job-1",
      updated_at: clock.nowMs,
      created_at: clock.nowMs - 5,
    });
    expect(await one.settle(open, UNKNOWN)).toBeUndefined();
    const lost = await one.insert(newAction({ key: "lost", subjectHash: "lost", workHash: "lost" }));
    if (!lost) throw new Error("not inserted");
    await two.claim(lost, true);
    expect(await one.settle(lost, SUCCEEDED), "taken over").toBeUndefined();
  });

  test("told is what was told, not what has been taken up again since", async () => {
    const { as } = await bench(driver);
    const journal = await as("one");
    const open = await journal.insert(newAction());
    if (!open) throw new Error("not inserted");
    expect(await journal.markSent(open), "nothing to tell yet").toBeUndefined();
    const putOff = await journal.settle(open, PUT_OFF);
    if (!putOff) throw new Error("not settled");
    expect(await journal.markSent(putOff)).toBeDefined();
    expect(await journal.findSame("service", "submit_job", "hash")).toBeUndefined();
    // A younger twin has the arguments for itself; both can be untold at once.
    expect(await journal.insert(newAction({ key: "younger" }))).toBeDefined();
    const again = await journal.claim(putOff, false);
    expect(again).toMatchObject({ delivered_at: null });
    const unknown = await journal.settle(putOff, { ...UNKNOWN, attempts: 3 });
    if (!unknown) throw new Error("not settled");
    expect(await journal.markSent(putOff), "told of an earlier end").toBeUndefined();
    expect(await journal.markSent(unknown), "an unknown end is none").toBeUndefined();
    expect((await journal.find("service", putOff.key))?.delivered_at).toBeNull();
  });

  test("lists the latest first, by service and state, no more than asked for", async () => {
    const { clock, as } = await bench(driver);
    const journal = await as("one");
    for (const [key, settlement] of [
      ["a", SUCCEEDED],
      ["b", UNKNOWN],
      ["c", undefined],
      ["d", REFUSED],
    ] as const) {
      clock.nowMs += 1;
      const open = await journal.insert(newAction({ key, subjectHash: key, workHash: key }));
      if (open && settlement) await journal.settle(open, settlement);
    }
    await journal.insert(newAction({ key: "e", service: "another" }));
    const keys = async (service: string | undefined, states: Parameters<Journal["list"]>[1], limit: number) =>
      (await journal.list(service, states, limit)).map(({ key }) => key).join("");
    expect(await keys("service", ["open", "succeeded", "rejected", "unknown"], 10)).toBe("dcba");
    expect(await keys("service", ["open", "unknown"], 10)).toBe("cb");
    expect(await keys("service", ["open", "succeeded", "rejected", "unknown"], 2)).toBe("dc");
    expect(await keys(undefined, ["open"], 10)).toMatch(/^(ce|ec)$/);
  });

  test("forgets what was settled long ago, and never what is open or unknown", async () => {
    const { clock, as } = await bench(driver);
    const journal = await as("one");
    for (const [key, settlement] of [
      ["done", SUCCEEDED],
      ["unknown", UNKNOWN],
      ["open", undefined],
      ["refused", REFUSED],
    ] as const) {
      const open = await journal.insert(newAction({ key, subjectHash: key, workHash: key }));
      if (open && settlement) await journal.settle(open, settlement);
    }
    clock.nowMs += 1000;
    const late = await journal.insert(newAction({ key: "late", subjectHash: "late", workHash: "late" }));
    if (late) await journal.settle(late, SUCCEEDED);
    expect(await journal.prune(999)).toBe(false);
    const left = await journal.list("service", ["open", "succeeded", "rejected", "unknown"], 10);
    expect(left.map(({ key }) => key).sort()).toEqual(["late", "open", "unknown"]);
  });

  test("keeps any text that JSON can hold, byte for byte", async () => {
    const { as } = await bench(driver);
    const journal = await as("one");
    let n = 0;
    await fc.assert(
      fc.asyncProperty(fc.json(), fc.string({ unit: "binary" }), async (body, text) => {
        const key = `key-${++n}`;
        const outcome = JSON.stringify(text);
        const open = await journal.insert(newAction({ key, subjectHash: key, workHash: key, body, arguments: body }));
        if (!open) throw new Error("not inserted");
        await journal.settle(open, { ...SUCCEEDED, outcome });
        expect(await journal.find("service", key)).toMatchObject({ body, arguments: body, outcome });
      }),
      { numRuns: 50 },
    );
  });

  test("of a later version is left alone", async () => {
    const { place, as } = await bench(driver);
    await as("one");
    const database = await driver.open(place);
    await database.query("INSERT INTO journal_version (version) VALUES ($1)", [JOURNAL_VERSION + 1]);
    await expect(as("two")).rejects.toThrow(NewerJournal);
    await expect(as("two")).rejects.toThrow(String(JOURNAL_VERSION + 1));
  });

  test("of a later version that only adds to it is used, and left as it is", async () => {
    const { place, as } = await bench(driver);
    await as("one");
    const database = await driver.open(place);
    const later = [JOURNAL_VERSION + 1, JOURNAL_VERSION];
    await database.query("INSERT INTO journal_version (version, needs) VALUES ($1, $2)", later);
    await database.query("ALTER TABLE actions ADD COLUMN later TEXT NOT NULL DEFAULT 'x'");
    const journal = await as("two");
    const open = await journal.insert(newAction());
    if (!open) throw new Error("not inserted");
    expect(await journal.settle(open, SUCCEEDED)).toMatchObject({ state: "succeeded" });
    expect(await database.query("SELECT version FROM journal_version")).toHaveLength(JOURNAL_VERSION + 1);
  });

  test("is made once, and opened again as it is", async () => {
    const { place, as } = await bench(driver);
    await (await as("one")).insert(newAction());
    expect(await (await as("two")).find("service", "key-0000")).toBeDefined();
    const rows = await (await driver.open(place)).query("SELECT version FROM journal_version ORDER BY version");
    expect(rows).toEqual(Array.from({ length: JOURNAL_VERSION }, (_, at) => ({ version: at + 1 })));
  });

  test("of twins that are written at once, neither seeing the other, one is there", async () => {
    const { clock, place, as } = await bench(driver);
    const real = await driver.open(place);
    let { query } = real;
    const terms = { owner: "one", now: () => clock.nowMs, leaseMs: LEASE_MS, repeatMs: REPEAT_MS };
    const one = await openJournal({ ...real, query: (sql, values) => query(sql, values) }, terms);
    const two = await as("two");
    let other: Promise<unknown> = Promise.resolve();
    await real.exclusively(async (inTransaction) => {
      query = inTransaction;
      expect(await one.insert(newAction({ key: "one" }))).toBeDefined();
      other = two.insert(newAction({ key: "two" }));
      // Whoever does not wait for the end of the first has long been done.
      await Promise.race([other, sleep(500)]);
    });
    expect(await other).toBeUndefined();
  });

  test("processes that open it at the same moment make it once, and win each race (insert, twins, claim) once", async () => {
    const { place, as } = await bench(driver);
    const [races, count] = [["insert", "twins", "claim"], 60];
    const won = (
      await race(place, races, count, async () => {
        const rows = await (await driver.open(place)).query("SELECT version FROM journal_version");
        expect(rows).toHaveLength(JOURNAL_VERSION);
        const gone = await as(GONE);
        for (let n = 0; n < count; n++) await gone.insert(newAction({ key: `claim-${n}`, explicit: true }));
      })
    ).flat();
    const all = races.flatMap((each) => Array.from({ length: count }, (_, n) => `${each}-${n}`));
    expect(won.sort()).toEqual(all.sort());
  });
});
