// Tests real clients of the older revisions against two instances that receive a client's messages in turn.
import { beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { type Emulator, startEmulator } from "../../src/emulator/index.ts";
import { Service } from "../emulator/service.ts";
import { FILE, submitJob } from "../emulator/work.ts";
import { createManualClock } from "../support/emulator.ts";
import { expectConsistentInstructions } from "../support/instructions.ts";
import { type ClientRevision, connectHttp, emulatorEnv, type Progress, type Reply } from "../support/mcp.ts";
import { serveStatelessInProcess } from "../support/stateless.ts";

const STAGE_MS = 500;
const OLDER_REVISIONS = ["v1-client", "v2-legacy"] as const satisfies readonly ClientRevision[];
const clock = createManualClock();

let bench: {
  readonly service: Service;
  readonly url: string;
  /** Number of API requests for this operation whose path contains this id. */
  countRequests(operationId: string, id: string): Promise<number>;
};

beforeEach(async () => {
  const emulator: Emulator = await startEmulator({ clock });
  onTestFinished(() => emulator.close());
  bench = {
    service: new Service(emulator, clock),
    url: await serveStatelessInProcess({ ...emulatorEnv(emulator), MIC_GEOGRAPHY_RATE: "600" }),
    async countRequests(operationId, id) {
      const entries: unknown = await (await fetch(`${emulator.baseUrl}/__emulator/requests`)).json();
      if (!Array.isArray(entries)) throw new Error("the emulator keeps no log");
      return entries.filter((entry) => entry.operationId === operationId && entry.path.includes(id)).length;
    },
  };
});

async function clientForTest(revision: ClientRevision, onElicitation?: (question: string) => Reply) {
  const client = await connectHttp(revision, bench.url, { ...(onElicitation && { onElicitation }) });
  onTestFinished(() => client.close());
  return client;
}

describe.each(OLDER_REVISIONS)("client %s", (revision) => {
  test("an older client uses tools, resources, prompts and completions without a session", async () => {
    const client = await clientForTest(revision);
    expect(client.sessionId()).toBeUndefined();
    expect((await client.listTools()).length).toBeGreaterThan(20);
    expect(client.instructions()).toMatch(/find_district/);
    await expectConsistentInstructions(client, "a deployment");
    expect((await client.listResources()).map(({ uri }) => uri)).toContain("mic://geography/states");
    expect(await client.getPrompt("diagnose_job", { jobId: "job-1" })).toContain("job-1");
    const ref = { type: "ref/resource", uri: "mic://geography/states/{code}/districts" } as const;
    expect(await client.complete(ref, "code", "K")).toContain("KL");
    const read = await Promise.all([1, 2, 3, 4].map(() => client.callTool("list_districts", { state: "KL" })));
    for (const { structured } of read) expect(structured).toMatchObject({ state: "Kerala" });
    const unknown = client.readResource("mic://jobs/no-such-job");
    await expect(unknown).rejects.toMatchObject({ code: revision === "v1-client" ? -32002 : -32602 });
    const failed = await client.callTool("get_job", { jobId: "no-such-job" });
    expect(failed.error).toMatchObject({ kind: "not_found", sideEffect: "none" });
  });

  test("an older client cancels a job without a confirmation, because the server cannot ask the user", async () => {
    const questions: string[] = [];
    const client = await clientForTest(revision, (question) => {
      questions.push(question);
      return { action: "decline" };
    });
    const { id } = await submitJob(bench.service, FILE.succeeds);
    const { isError, text } = await client.callTool("cancel_job", { jobId: id, reason: "not needed", waitSeconds: 0 });
    expect(isError, text).toBe(false);
    expect(questions).toEqual([]);
    expect(await bench.countRequests("cancelMicJob", id)).toBe(1);
  });

  test("an older client gets progress during a waiting call, and then the call's result", async () => {
    const client = await clientForTest(revision);
    const { id } = await submitJob(bench.service, FILE.succeeds);
    const onprogress = (_tick: Progress) => clock.advance(20 * STAGE_MS);
    const { structured } = await client.callTool("get_job", { jobId: id, waitSeconds: 20 }, { onprogress });
    expect(structured).toMatchObject({ data: { id, state: "SUCCEEDED" } });
  });
});
