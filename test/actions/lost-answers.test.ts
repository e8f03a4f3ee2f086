// Tests connections that break between a write and its answer: the journal detects that the write was already made.
import { expect, onTestFinished, test } from "vitest";
import { type Journal, openJournal } from "../../src/actions/journal.ts";
import { type Database, ResponseLost } from "../../src/store/database.ts";
import { openSqlite } from "../../src/store/sqlite.ts";
import { folderForTest } from "../support/temporary-folder.ts";
import { insertAction, newAction, SUCCEEDED } from "./samples.ts";

const NOW = 1_800_000_000_000;

type LossPoint = "the write" | "its answer";

async function createBench() {
  const real = await openSqlite(await folderForTest());
  onTestFinished(() => real.close());
  let pendingLoss: LossPoint | undefined;
  let beforeRetry = async (): Promise<void> => undefined;
  let writes = 0;
  const database: Database = {
    ...real,
    async query(sql, values) {
      if (/^\s*SELECT/i.test(sql)) return await real.query(sql, values);
      writes += 1;
      const loss = pendingLoss;
      pendingLoss = undefined;
      const rows = loss === "the write" ? [] : await real.query(sql, values);
      if (loss === undefined) return rows;
      await beforeRetry();
      throw new ResponseLost("Connection terminated unexpectedly");
    },
  };
  const openJournalAs = (owner: string, on: Database): Promise<Journal> => openJournal(on, { owner, now: () => NOW });
  const [journal, other] = [await openJournalAs("one", database), await openJournalAs("other", real)];
  writes = 0;
  return {
    journal,
    other,
    writes: () => writes,
    /** Loses the next write or its answer. `then` runs before the retry. */
    loseNext(what: LossPoint, then = async (): Promise<void> => undefined) {
      pendingLoss = what;
      beforeRetry = then;
    },
  };
}

test.each<LossPoint>(["the write", "its answer"])(
  "an action is inserted, resolved and claimed even if each of these steps first loses %s",
  async (what) => {
    const { journal, other, loseNext, writes } = await createBench();
    loseNext(what);
    const action = await insertAction(journal);
    expect(action).toMatchObject({ owner: "one", state: "in_progress", attempts: 0 });
    expect(writes()).toBe(2);
    loseNext(what);
    expect(await journal.resolve(action, SUCCEEDED)).toMatchObject({ state: "succeeded", resource_id: "job-1" });
    const abandoned = await insertAction(other, { key: "abandoned", fingerprint: "other" });
    loseNext(what);
    expect(await journal.claim(abandoned, true)).toMatchObject({ owner: "one", indeterminate: 1, attempts: 1 });
  },
);

test.each<[string, LossPoint]>([
  ["taken over", "its answer"],
  ["inserted", "the write"],
])("a new action that another process has %s meanwhile belongs to that process", async (_how, what) => {
  const { journal, other, loseNext } = await createBench();
  loseNext(what, async () => {
    const written = await journal.find("service", "key-0000");
    await (written ? other.claim(written, true) : other.insert(newAction()));
  });
  expect(await journal.insert(newAction())).toBeUndefined();
  expect(await journal.find("service", "key-0000")).toMatchObject({ owner: "other" });
});

test("a resolution that another process has written meanwhile is not attributed to this process", async () => {
  const { journal, other, loseNext } = await createBench();
  const action = await insertAction(journal);
  loseNext("the write", async () => {
    const claimed = await other.claim(action, true);
    if (claimed) await other.resolve(claimed, SUCCEEDED);
  });
  expect(await journal.resolve(action, { ...SUCCEEDED, state: "unknown" })).toBeUndefined();
  expect(await journal.find("service", "key-0000")).toMatchObject({ owner: "other", state: "succeeded" });
});

test("a write whose response is lost twice is an error", async () => {
  const { journal, loseNext } = await createBench();
  loseNext("the write", async () => loseNext("the write"));
  await expect(journal.insert(newAction())).rejects.toThrow(ResponseLost);
});
