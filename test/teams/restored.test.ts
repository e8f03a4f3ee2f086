// A journal that was restored from a backup has forgotten actions: lists of actions and whatever is done anew name the span.
import { expect, test } from "vitest";
import { emulatorForTest } from "../support/emulator.ts";
import { connectHttp } from "../support/mcp.ts";
import type { CallResult } from "../support/results.ts";
import { addTeam, callerNamed, instanceForTest, keyLine, type Place, urlOf } from "./deployment.ts";
import { describeWithPostgres } from "./postgres.ts";

const HOUR_MS = 3_600_000;
const SENTENCE = /The journal was restored from a backup: what was done from \S+ to \S+ is not in it\./;
const summaryOf = ({ structured }: CallResult): string => String(structured?.["summary"]);

describeWithPostgres("a restored journal", (postgres) => {
  /** A caller of an instance whose journal lacks an hour that ended so long ago. */
  async function clientWithGap(endedHoursAgo: number | undefined) {
    const place: Place = {
      url: await postgres().database(),
      keys: keyLine("one"),
      emulator: await emulatorForTest({ clients: 1 }),
    };
    await addTeam(place, { name: "red", client: 0, claim: "reds" });
    const to = new Date(Date.now() - (endedHoursAgo ?? 0) * HOUR_MS);
    const restoredAt = endedHoursAgo === undefined ? undefined : { from: new Date(to.getTime() - HOUR_MS), to };
    const instance = await instanceForTest(place, { restoredAt });
    const runtime = await instance.runtimeOf(callerNamed("ann", ["reds"]), undefined);
    if (!runtime) throw new Error("there is no such path");
    const client = await connectHttp("v2-modern", await urlOf(runtime));
    const input = { inputKind: "M4_FILE", referenceId: place.emulator.fileIds[0] };
    return { client, input, to };
  }

  test("is told with every list of actions and every new action, in both of a result's forms", async () => {
    const { client, input, to } = await clientWithGap(1);
    const end = to.toISOString().replace(".000Z", "Z");
    for (const result of [await client.callTool("list_actions"), await client.callTool("register_input", input)]) {
      expect(result.isError, result.text).toBe(false);
      expect(summaryOf(result)).toMatch(SENTENCE);
      expect(summaryOf(result)).toContain(end);
      expect(result.text).toMatch(SENTENCE);
    }
  });

  test("what was told before is in the journal, and reads are no actions", async () => {
    const { client, input } = await clientWithGap(1);
    const keyed = { ...input, idempotencyKey: "a-key-of-mine-1" };
    await client.callTool("register_input", keyed);
    const again = await client.callTool("register_input", keyed);
    expect(again.action?.replayed).toBe(true);
    expect(again.text).not.toMatch(SENTENCE);
    expect((await client.callTool("list_jobs")).text).not.toMatch(SENTENCE);
  });

  test("matters no longer than actions are sent again; without it there is nothing to tell", async () => {
    for (const hours of [25, undefined]) {
      const { client, input } = await clientWithGap(hours);
      expect((await client.callTool("list_actions")).text).not.toMatch(SENTENCE);
      expect((await client.callTool("register_input", input)).text).not.toMatch(SENTENCE);
    }
  });
});
