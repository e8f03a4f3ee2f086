// Tests a journal restored from a backup, which lacks some actions: lists of actions and results of new actions report the
// missing time span.
import { expect, test } from "vitest";
import { Service } from "../emulator/service.ts";
import { FILE } from "../emulator/work.ts";
import { run } from "../mcp/stdio/child.ts";
import { jobArguments } from "../mcp/tasks/fixtures.ts";
import { createManualClock, emulatorForTest } from "../support/emulator.ts";
import { connectHttp } from "../support/mcp.ts";
import { type CallResult, readResult } from "../support/results.ts";
import {
  addTeam,
  createCaller,
  createKeyLine,
  instanceForTest,
  resolveRuntime,
  serveRuntime,
  type TestEnvironment,
} from "./deployment.ts";
import { sendRequest } from "./send-request.ts";
import { describeWithPostgres } from "./services.ts";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const RESTORED_NOTE = /The journal was restored from a backup: it lacks the actions from \S+ to \S+\./;
const summaryOf = ({ structured }: CallResult): string => String(structured?.["summary"]);

describeWithPostgres("a restored journal", (postgres) => {
  /** A caller of an instance whose journal lacks one hour, which ended this many hours ago; undefined for a complete journal. */
  async function clientOfRestoredJournal(endedHoursAgo: number | undefined) {
    const clock = createManualClock();
    const place: TestEnvironment = {
      url: await postgres().createDatabase(),
      keys: createKeyLine("one"),
      emulator: await emulatorForTest({ clients: 1, clock }),
    };
    await addTeam(place, { name: "red", client: 0, claim: "reds" });
    const to = new Date(Date.now() - (endedHoursAgo ?? 0) * HOUR_MS);
    const restoredAt = endedHoursAgo === undefined ? undefined : { from: new Date(to.getTime() - HOUR_MS), to };
    const instance = await instanceForTest(place, { restoredAt });
    const url = await serveRuntime(await resolveRuntime(instance, createCaller("ann", ["reds"])));
    const client = await connectHttp("v2-modern", url);
    const input = { inputKind: "M4_FILE", referenceId: place.emulator.fileIds[0] };
    return { client, input, to, url, clock, service: new Service(place.emulator, clock) };
  }

  test("each list of actions and each new action reports the restore, in the text and in structuredContent", async () => {
    const { client, input, to } = await clientOfRestoredJournal(1);
    const end = to.toISOString().replace(".000Z", "Z");
    for (const result of [await client.callTool("list_actions"), await client.callTool("register_input", input)]) {
      expect(result.isError, result.text).toBe(false);
      expect(summaryOf(result)).toMatch(RESTORED_NOTE);
      expect(summaryOf(result)).toContain(end);
      expect(result.text).toMatch(RESTORED_NOTE);
    }
  });

  test("a task of a new action reports the restore in its status, and its result does too", async () => {
    const { url, service, clock } = await clientOfRestoredJournal(1);
    const job = await jobArguments(service, FILE.succeeds);
    const { result } = await sendRequest(url, "tools/call", { name: "submit_job", arguments: job });
    expect(result).toMatchObject({ resultType: "task", statusMessage: expect.stringMatching(RESTORED_NOTE) });
    clock.advance(DAY_MS);
    const task = await sendRequest(url, "tasks/get", { taskId: result?.["taskId"] });
    expect(task.result).toMatchObject({ status: "completed", statusMessage: expect.stringMatching(RESTORED_NOTE) });
    expect(readResult(task.result?.["result"]).text).toMatch(RESTORED_NOTE);
  });

  test("a replay of an action in the journal and a read do not report the restore", async () => {
    const { client, input } = await clientOfRestoredJournal(1);
    const keyed = { ...input, idempotencyKey: "a-key-of-mine-1" };
    await client.callTool("register_input", keyed);
    const again = await client.callTool("register_input", keyed);
    expect(again.action?.replayed).toBe(true);
    expect(again.text).not.toMatch(RESTORED_NOTE);
    expect((await client.callTool("list_jobs")).text).not.toMatch(RESTORED_NOTE);
  });

  test.each([["serve"], ["serve", "--http"], ["call", "list_states"], ["doctor"]])(
    "MIC_RESTORED_AT is refused with a reason outside a deployment (%s %s)",
    async (...args) => {
      const env = { MIC_RESTORED_AT: "2026-07-28T01:00:00Z/2026-07-28T09:30:00Z" };
      const { code, stdout, stderr } = await run(args, { env });
      expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
      expect(stderr).toContain("MIC_RESTORED_AT has an effect only with mic-mcp serve --teams");
    },
  );

  test("a restore is reported only during the deduplication window, and never without MIC_RESTORED_AT", async () => {
    for (const hours of [21, undefined]) {
      const { client, input } = await clientOfRestoredJournal(hours);
      expect((await client.callTool("list_actions")).text).not.toMatch(RESTORED_NOTE);
      expect((await client.callTool("register_input", input)).text).not.toMatch(RESTORED_NOTE);
    }
  });
});
