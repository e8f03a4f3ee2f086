// Tests instances whose clocks are hours apart: all ages are measured by the database's clock.
import { expect, test } from "vitest";
import { openJournal } from "../../src/actions/journal.ts";
import { listActions } from "../../src/actions/listing.ts";
import { databaseForTest, describeWithPostgres } from "../teams/services.ts";
import { newAction, SUCCEEDED } from "./samples.ts";

const HOUR_MS = 3_600_000;

describeWithPostgres("instances whose clocks are hours apart", (postgres) => {
  /** The clocks differ by more than the deduplication window. */
  async function createInstances() {
    const url = await postgres().createDatabase();
    const openJournalWithClock = async (owner: string, aheadMs: number) => {
      const database = await databaseForTest(url);
      const now = () => Date.now() + aheadMs;
      return await openJournal(database, { owner, now });
    };
    return {
      slow: await openJournalWithClock("slow", -12 * HOUR_MS),
      fast: await openJournalWithClock("fast", 12 * HOUR_MS),
    };
  }

  test("a success of the slow instance is the same action to the fast one", async () => {
    const { slow, fast } = await createInstances();
    const action = await slow.insert(newAction());
    if (!(action && (await slow.resolve(action, SUCCEEDED)))) throw new Error("not resolved");
    expect(await fast.findLatest("service", "submit_job", "hash")).toMatchObject({
      isLive: true,
      action: { key: "key-0000" },
    });
    expect(await fast.insert(newAction({ key: "another" }))).toBeUndefined();
  });

  test("an action of the slow instance is in progress to the fast one, and vice versa", async () => {
    const { slow, fast } = await createInstances();
    await slow.insert(newAction({ key: "of-slow", fingerprint: "a" }));
    await fast.insert(newAction({ key: "of-fast", fingerprint: "b" }));
    for (const journal of [slow, fast]) {
      await journal.heartbeat();
      const { counts } = await listActions(journal, { service: "service", state: undefined, limit: 10 });
      expect(counts).toMatchObject({ in_progress: 2, unknown: 0 });
    }
  });

  test("the fast instance prunes no recent action", async () => {
    const { slow, fast } = await createInstances();
    const action = await slow.insert(newAction());
    if (action) await slow.resolve(action, SUCCEEDED);
    await fast.prune(HOUR_MS);
    expect(await slow.find("service", "key-0000")).toBeDefined();
  });
});
