// Tests claims that the journal confirmed only after their calls had ended: nothing was sent, so the action ends as never sent.
import { expect, onTestFinished, test, vi } from "vitest";
import { openJournal } from "../../src/actions/journal.ts";
import { type Database, ResponseLost } from "../../src/store/database.ts";
import { openSqlite } from "../../src/store/sqlite.ts";
import { folderForTest } from "../support/temporary-folder.ts";
import { insertAction, newAction, REJECTED } from "./samples.ts";

const START = 1_800_000_000_000;
const INTERVAL_MS = 30_000;

/** A journal whose next write is executed although its answer and that of its repetition are lost. */
async function openLosingJournal() {
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
  onTestFinished(() => void vi.useRealTimers());
  const real = await openSqlite(await folderForTest());
  onTestFinished(() => real.close());
  let now = START;
  let losses = 0;
  const database: Database = {
    ...real,
    async query(sql, values) {
      if (/^\s*SELECT/i.test(sql) || losses === 0) return await real.query(sql, values);
      losses -= 1;
      if (losses === 1) await real.query(sql, values);
      throw losses === 1 ? new ResponseLost("Query read timeout") : new Error("all writes are blocked");
    },
  };
  const journal = await openJournal(database, { owner: "one", now: () => now });
  return {
    journal,
    loseNext() {
      losses = 2;
    },
    /** Lets this much time pass, and what is done at intervals. */
    pass(ms: number): void {
      now += ms;
      vi.advanceTimersByTime(INTERVAL_MS);
    },
    stateOf: async (key: string) => (await journal.find("service", key))?.state,
  };
}

test("an action whose record was confirmed too late ends as rejected, and says that it was never sent", async () => {
  const { journal, loseNext, pass, stateOf } = await openLosingJournal();
  loseNext();
  await expect(journal.insert(newAction())).rejects.toThrow("blocked");
  pass(60_000);
  expect(await stateOf("key-0000")).toBe("in_progress");
  pass(61_000);
  await expect.poll(() => stateOf("key-0000")).toBe("rejected");
  expect(await journal.find("service", "key-0000")).toMatchObject({
    attempts: 0,
    outcome: expect.stringContaining("Not sent"),
  });
  expect(await journal.countUnresolved()).toEqual({ inProgress: 0, unknown: 0 });
  // An identical call without a key is a new action.
  expect(await journal.insert(newAction({ key: "next" }))).toMatchObject({ state: "in_progress" });
});

test("a rejected action whose next claim was confirmed too late is rejected again", async () => {
  const { journal, loseNext, pass, stateOf } = await openLosingJournal();
  const action = await insertAction(journal);
  const rejected = await journal.resolve(action, REJECTED);
  loseNext();
  await expect(journal.claim(rejected ?? action, false)).rejects.toThrow("blocked");
  expect(await stateOf("key-0000")).toBe("in_progress");
  pass(121_000);
  await expect.poll(() => stateOf("key-0000")).toBe("rejected");
});

test("an action that this process claimed again or is sending does not end as never sent", async () => {
  const { journal, loseNext, pass, stateOf } = await openLosingJournal();
  loseNext();
  await expect(journal.insert(newAction({ key: "claimed", fingerprint: "1" }))).rejects.toThrow("blocked");
  const lost = await journal.find("service", "claimed");
  if (lost) await journal.claim(lost, true);
  loseNext();
  await expect(journal.insert(newAction({ key: "sending", fingerprint: "2" }))).rejects.toThrow("blocked");
  journal.inFlight.begin({ service: "service", key: "sending" }, () => undefined);
  await insertAction(journal, { key: "sent", fingerprint: "3" });
  loseNext();
  await expect(journal.insert(newAction({ key: "lost", fingerprint: "4" }))).rejects.toThrow("blocked");
  pass(121_000);
  await expect.poll(() => stateOf("lost")).toBe("rejected");
  for (const key of ["claimed", "sending", "sent"]) expect(await stateOf(key), key).toBe("in_progress");
});
