// Tests a journal restored from a backup: lists of actions and new results report the missing time span.
import { describe, expect, onTestFinished, test, vi } from "vitest";
import type { ComposedTeams } from "../../src/teams/compose.ts";
import { Service } from "../emulator/service.ts";
import { runInProcess as run } from "../support/command.ts";
import { createManualClock, emulatorForTest } from "../support/emulator.ts";
import { connectHttp } from "../support/mcp.ts";
import {
  connectCaller,
  createCaller,
  environmentForTest,
  instanceForTest,
  resolveRuntime,
  serveRuntime,
} from "./deployment.ts";
import { databaseForTest, describeWithPostgres } from "./services.ts";

const HOUR_MS = 3_600_000;
const RESTORED_NOTE = /The journal was restored from a backup or an older replica: it lacks actions from \S+ to \S+\./;

describeWithPostgres("a restored journal", (postgres) => {
  /** A caller of an instance whose journal lacks one hour, which ended this many hours ago; undefined for a complete journal. */
  async function clientOfRestoredJournal(endedHoursAgo: number | undefined) {
    const clock = createManualClock();
    const place = await environmentForTest(postgres(), await emulatorForTest({ clients: 1, clock }));
    const to = new Date(Date.now() - (endedHoursAgo ?? 0) * HOUR_MS);
    const restoreGap = endedHoursAgo === undefined ? undefined : { from: new Date(to.getTime() - HOUR_MS), to };
    const instance = await instanceForTest(place, { restoreGap });
    const url = await serveRuntime(await resolveRuntime(instance, createCaller("ann", ["reds"])));
    const client = await connectHttp("v2-modern", url);
    const input = { inputKind: "M4_FILE", referenceId: place.emulator.fileIds[0] };
    return { client, input, to, place, restoreGap, service: new Service(place.emulator, clock) };
  }

  test("the first new action without a key is refused as one that may have run, and the next call with the named key runs once", async () => {
    const { client, input, to, service } = await clientOfRestoredJournal(1);
    const end = to.toISOString().replace(".000Z", "Z");
    const countInputs = () => service.countEffects("createMicPublicInput");
    const before = await countInputs();
    const refused = await client.callTool("register_input", input);
    expect(refused.error).toMatchObject({ kind: "conflict", retryable: false, sideEffect: "none" });
    expect(refused.text).toMatch(RESTORED_NOTE);
    expect(refused.text).toContain(end);
    expect(refused.text).toContain("a second input of the same file does no harm");
    expect(await countInputs()).toBe(before);
    const [, idempotencyKey] = /idempotencyKey (again-[0-9a-f]{16})/.exec(refused.text) ?? [];
    for (const replayed of [false, true]) {
      const { action, text } = await client.callTool("register_input", { ...input, idempotencyKey });
      expect(action).toMatchObject({ replayed });
      expect(text).not.toMatch(RESTORED_NOTE);
    }
    expect(await countInputs()).toBe(before + 1);
    for (const { text, structured } of [await client.callTool("list_actions")]) {
      expect(text).toMatch(RESTORED_NOTE);
      expect(structured?.["summary"]).toMatch(RESTORED_NOTE);
    }
    expect((await client.callTool("list_jobs")).text).not.toMatch(RESTORED_NOTE);
  });

  test("actions that are sent together with the refused one are refused too, on every instance; later ones run", async () => {
    const { client, input, place, restoreGap } = await clientOfRestoredJournal(1);
    const { query } = await databaseForTest(place.url);
    const other = await connectCaller(await instanceForTest(place, { restoreGap }), createCaller("ann", ["reds"]));
    for (const each of [client, other, client])
      expect((await each.callTool("register_input", input)).error).toMatchObject({ kind: "conflict" });
    await query("UPDATE loss_notices SET noticed_at = noticed_at - 45000");
    const ran = await other.callTool("register_input", input);
    expect(ran.action).toMatchObject({ replayed: false });
    expect(ran.text).not.toMatch(RESTORED_NOTE);
    const bob = await connectCaller(await instanceForTest(place, { restoreGap }), createCaller("bob", ["reds"]));
    expect((await bob.callTool("register_input", input)).error).toMatchObject({ kind: "conflict" });
  });

  test("MIC_RESTORE_GAP is refused with a reason outside a deployment", async () => {
    const env = { MIC_RESTORE_GAP: "2026-07-28T01:00:00Z/2026-07-28T09:30:00Z" };
    const reason = expect.stringContaining("MIC_RESTORE_GAP has an effect only with mic-mcp serve --teams");
    for (const args of [["serve"], ["serve", "--http"], ["call", "list_states"]])
      expect(await run(args, { env })).toEqual({ code: 2, stdout: "", stderr: reason });
    expect(await run(["doctor"], { env })).toEqual({ code: 1, stdout: reason, stderr: "" });
  });

  describe("without MIC_RESTORE_GAP", () => {
    /** A deployment, and a function that makes the next check of its instances a real one. */
    async function setUp() {
      const place = await environmentForTest(postgres(), await emulatorForTest({ clients: 1 }));
      const database = await databaseForTest(place.url);
      let elapsedMs = 0;
      const start = performance.now();
      vi.spyOn(performance, "now").mockImplementation(() => start + elapsedMs);
      onTestFinished(() => void vi.restoreAllMocks());
      const check = async (instance: ComposedTeams) => {
        elapsedMs += 20_000;
        return await instance.databaseCheck();
      };
      const listActions = async (instance: ComposedTeams) => {
        const client = await connectCaller(instance, createCaller("ann", ["reds"]));
        return (await client.callTool("list_actions")).text;
      };
      return { place, database, check, listActions };
    }

    test("an instance is not ready after a later version has changed the tables, and its actions say what to do", async () => {
      const { place, database, check } = await setUp();
      const instance = await instanceForTest(place);
      expect(await check(instance)).toMatchObject({ status: "ok" });
      const client = await connectCaller(instance, createCaller("ann", ["reds"]));
      await database.query("INSERT INTO journal_version (version, needs) VALUES (999, 999)");
      expect(await check(instance)).toMatchObject({ status: "failed", reason: expect.stringContaining("version 999") });
      const input = { inputKind: "M4_FILE", referenceId: place.emulator.fileIds[0] };
      const refused = await client.callTool("register_input", input);
      expect(refused.error).toMatchObject({ kind: "unavailable", sideEffect: "none" });
      expect(refused.text).toContain("the version of mic-mcp that changed them");
    });

    test("a running instance detects that the database was restored, and reports the time range", async () => {
      const { place, database, check, listActions } = await setUp();
      const instance = await instanceForTest(place);
      expect(await check(instance)).toMatchObject({ status: "ok" });
      const [backup] = await database.query("SELECT checked_at FROM deployment");
      const backedUpAt = Number(backup?.["checked_at"]);
      expect(await check(instance)).toMatchObject({ status: "ok" });
      expect(await listActions(instance)).not.toMatch(RESTORED_NOTE);
      // The backup has the row of its time.
      await database.query("UPDATE deployment SET checked_at = $1", [backedUpAt]);
      expect(await check(instance)).toMatchObject({ restoreGap: { from: new Date(backedUpAt) } });
      expect(await listActions(instance)).toMatch(RESTORED_NOTE);
      const other = await instanceForTest(place);
      expect(await check(other)).toMatchObject({ restoreGap: { from: new Date(backedUpAt) } });
    });

    test.each([
      ["an old backup on another server is a restore", "other/00000001", 3_600_000, true],
      ["an old row on the same server is a pause", undefined, 3_600_000, false],
      ["a recent backup on another server is a restore", "other/00000001", 5_000, true],
      ["an old row on another timeline is a restore", "/00000009", 3_600_000, true],
      ["a recent row on another timeline is a failover", "/00000009", 5_000, false],
    ])(
      "an instance that starts decides by the server and the age of the last check: %s",
      async (_what, server, ageMs, isRestore) => {
        const { place, database, check, listActions } = await setUp();
        await check(await instanceForTest(place));
        await database.query(
          "UPDATE deployment SET checked_at = checked_at - $1, server = CASE WHEN $2 LIKE '/%' THEN split_part(server, '/', 1) || $2 ELSE COALESCE($2, server) END",
          [ageMs, server ?? null],
        );
        const instance = await instanceForTest(place);
        expect("restoreGap" in (await check(instance))).toBe(isRestore);
        expect(RESTORED_NOTE.test(await listActions(instance))).toBe(isRestore);
      },
    );
  });

  test("a restore is reported only during the deduplication window, and never without MIC_RESTORE_GAP", async () => {
    for (const hours of [21, undefined]) {
      const { client, input } = await clientOfRestoredJournal(hours);
      expect((await client.callTool("list_actions")).text).not.toMatch(RESTORED_NOTE);
      expect((await client.callTool("register_input", input)).text).not.toMatch(RESTORED_NOTE);
    }
  });
});
